#include "lib/Driver/DiagnosticPrinter.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::st;

namespace {

TEST(DiagnosticPrinterTest, RemarksWithOneTextAreCounted) {
  MLIRContext context;
  Builder builder(&context);
  testing::internal::CaptureStderr();
  {
    DiagnosticPrinter printer(&context, "tool", "model");
    for (const char *layer : {"layer0", "layer1", "layer2"})
      emitRemark(NameLoc::get(builder.getStringAttr(layer)), "is not fused");
    emitRemark(NameLoc::get(builder.getStringAttr("layer0")), "is replicated");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tool: remark: model: layer0: is not fused\n"
            "tool: remark: model: layer0: is replicated\n"
            "tool: remark: 2 more with this text: is not fused\n");
}

} // namespace
