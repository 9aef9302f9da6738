// Compares the simulator's data path with the host's libraries, on one thread each, one after the
// other:
// - its matrix products, compared with oneDNN's, whose right operand is packed ahead: 384 x 1024 x
// 4096,
//   f32 and bf16 to f32;
// - a sequence of vector instructions on tiles that come from L3 and go back to it, compared with
// STREAM's
//   triad, a = b + s * c, on as much memory.
//
//   OMP_NUM_THREADS=1 build/bin/st-host-peers [rounds]
//
// Prints medians and ratios. A few rounds even out a machine that others use too.
#include "backends/dtu/isa/Text.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/data/HostMatmul.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/str_cat.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

using namespace st::dtu;
using dnnl::memory;

constexpr int64_t kM = 384, kN = 1024, kK = 4096;
/// A small number in bf16, and two of them one in f32.
constexpr uint16_t kSmall = 0x3c00;

double seconds(const std::function<void()> &work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// A product by oneDNN with B in the layout that it chooses.
class Peer {
public:
  explicit Peer(memory::data_type type) : engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    memory::desc a({kM, kK}, type, memory::format_tag::ab);
    memory::desc b({kK, kN}, type, memory::format_tag::any);
    memory::desc c({kM, kN}, memory::data_type::f32, memory::format_tag::ab);
    dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), engine);
    product = dnnl::matmul(chosen);
    memory left(a, engine), packed(chosen.weights_desc(), engine), out(c, engine);
    memory right({{kK, kN}, type, memory::format_tag::ab}, engine);
    for (memory *each : {&left, &right})
      std::fill_n(static_cast<uint16_t *>(each->get_data_handle()), each->get_desc().get_size() / 2,
                  kSmall);
    dnnl::reorder(right, packed).execute(stream, right, packed);
    stream.wait();
    arguments = {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, out}};
  }
  void run() {
    product.execute(stream, arguments);
    stream.wait();
  }

private:
  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::matmul product;
  std::unordered_map<int, memory> arguments;
};

void compare(const char *name, DType type, memory::data_type peerType, int rounds) {
  const HostIsa isa = fastestHostIsa();
  HostMatmul matmul(isa, hostKernels(isa));
  const int64_t width = type == DType::F32 ? 4 : 2;
  std::vector<uint16_t> a(static_cast<size_t>(kM * kK * width / 2), kSmall),
      b(static_cast<size_t>(kK * kN * width / 2), kSmall);
  std::vector<float> c(static_cast<size_t>(kM * kN));
  Peer peer(peerType);
  std::vector<double> own, theirs;
  for (int i = 0; i < rounds; ++i) {
    theirs.push_back(seconds([&] { peer.run(); }));
    own.push_back(seconds([&] {
      matmul.run(c.data(), kN, {reinterpret_cast<uint8_t *>(a.data()), kK, false},
                 {reinterpret_cast<uint8_t *>(b.data()), kN, false}, type, kM, kN, kK, false);
    }));
  }
  const double flops = 2.0 * static_cast<double>(kM * kN * kK) / 1e9;
  std::printf("| %s | %.0f | %.0f | %.2f |\n", name, flops / median(own), flops / median(theirs),
              median(theirs) / median(own));
}

/// Floats of each of three arrays in L3, and of a tile of them.
constexpr int64_t kArray = int64_t(16) << 20, kTile = 8192;

/// out = max(a + s * b, 0) * (a + s * b), a tile at a time.
std::string chainProgram() {
  auto at = [](int64_t offset) { return absl::StrCat("f32:L1[", offset, "]{128,1}"); };
  const int64_t a = 256, b = a + 4 * kTile, out = b + 4 * kTile;
  const std::string shape = " rows=64 cols=128\n", scalar = "{0,0}";
  return absl::StrCat("program \"chain\" semaphores=3 barriers=0 l1=", out + 4 * kTile,
                      " l2=0 l3=", 12 * kArray,
                      " host=0 table=0 {\n"
                      "stream dte first=0 count=1 {\n"
                      "  loop reg=r4 limit=",
                      4 * kArray, " step=", 4 * kTile,
                      "\n"
                      "    wait sem=0\n"
                      "    copy dst=L1[",
                      a, ";0]{4} src=L3[1*r4]{4} sizes=[", kTile,
                      "]\n"
                      "    copy dst=L1[",
                      b, ";0]{4} src=L3[", 4 * kArray, "+1*r4]{4} sizes=[", kTile,
                      "]\n"
                      "    signal sem=1\n"
                      "  end\n}\n"
                      "stream core first=0 count=1 {\n"
                      "  vector op=fill dst=f32:L1[0]",
                      scalar,
                      " rows=1 cols=1 value=0x3fc00000\n"
                      "  vector op=fill dst=f32:L1[128]",
                      scalar,
                      " rows=1 cols=1\n"
                      "  signal sem=0\n"
                      "  loop reg=r4 limit=",
                      4 * kArray, " step=", 4 * kTile,
                      "\n"
                      "    wait sem=1\n"
                      "    vector op=mul_add dst=",
                      at(out), " a=", at(b), " b=f32:L1[0]", scalar, " c=", at(a), shape,
                      "    vector op=max dst=", at(b), " a=", at(out), " b=f32:L1[128]", scalar,
                      shape, "    vector op=mul dst=", at(out), " a=", at(out), " b=", at(b), shape,
                      "    signal sem=2\n"
                      "  end\n}\n"
                      "stream dte first=1 count=1 {\n"
                      "  loop reg=r4 limit=",
                      4 * kArray, " step=", 4 * kTile,
                      "\n"
                      "    wait sem=2\n"
                      "    copy dst=L3[",
                      8 * kArray, "+1*r4]{4} src=L1[", out, ";0]{4} sizes=[", kTile,
                      "]\n"
                      "    signal sem=0\n"
                      "  end\n}\n}\n");
}

/// STREAM's, its stores past the caches, too.
void triad(float *out, const float *a, const float *b, float s) {
  for (int64_t i = 0; i < kArray; ++i)
    __builtin_nontemporal_store(a[i] + s * b[i], out + i);
}

bool chain(int rounds) {
  RankConfig config;
  config.arenaBytes = 12 * kArray;
  SimulatorOptions options;
  options.hostThreads = 1;
  auto description = st::builtinDtuDescription("dtu-t10");
  auto program = parseProgram(chainProgram());
  if (!description.ok() || !program.ok()) {
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    return false;
  }
  auto simulator = Simulator::create(*description, {config}, options);
  auto id = (*simulator)->load(*program);
  if (!id.ok()) {
    std::fprintf(stderr, "%s\n", id.status().ToString().c_str());
    return false;
  }
  float *data = reinterpret_cast<float *>((*simulator)->memory(0));
  std::vector<float> plain(static_cast<size_t>(3 * kArray));
  for (int64_t i = 0; i < 2 * kArray; ++i)
    data[i] = plain[static_cast<size_t>(i)] = static_cast<float>(i % 17) - 8.0f;
  std::vector<double> own, theirs;
  for (int i = 0; i < rounds; ++i) {
    theirs.push_back(seconds(
        [&] { triad(&plain[2 * kArray], &plain[0], &plain[static_cast<size_t>(kArray)], 1.5f); }));
    own.push_back(seconds([&] { (void)(*simulator)->execute({{{*id, 0}}}); }));
  }
  for (int64_t i = 0; i < kArray; ++i) {
    const float x = plain[static_cast<size_t>(2 * kArray + i)];
    if (data[2 * kArray + i] != std::max(x, 0.0f) * x) {
      std::fprintf(stderr, "element %ld is %g\n", i, data[2 * kArray + i]);
      return false;
    }
  }
  const double gigabytes = 12.0 * kArray / 1e9;
  std::printf("\n| 3 x 64 MiB, one thread | St, GB/s | triad | ratio |\n"
              "| --- | ---: | ---: | ---: |\n"
              "| mul_add, max, mul | %.1f | %.1f | %.2f |\n",
              gigabytes / median(own), gigabytes / median(theirs), median(theirs) / median(own));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 31;
  std::printf("| %ld x %ld x %ld, one thread | St, GFLOP/s | oneDNN, packed | ratio |\n"
              "| --- | ---: | ---: | ---: |\n",
              kM, kN, kK);
  compare("f32", DType::F32, memory::data_type::f32, rounds);
  compare("bf16", DType::BF16, memory::data_type::bf16, rounds);
  return chain(rounds) ? 0 : 1;
}
