// The host's matrix products beside oneDNN's, whose right operand is packed ahead: one thread,
// 384 x 1024 x 4096, f32 and bf16 to f32, in turn.
//
//   OMP_NUM_THREADS=1 build/bin/st-host-peers [rounds]
//
// Prints medians and ratios. A few rounds even out a machine that others use too.
#include "backends/dtu/simulator/HostMatmul.h"

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

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 31;
  std::printf("| %ld x %ld x %ld, one thread | St, GFLOP/s | oneDNN, packed | ratio |\n"
              "| --- | ---: | ---: | ---: |\n",
              kM, kN, kK);
  compare("f32", DType::F32, memory::data_type::f32, rounds);
  compare("bf16", DType::BF16, memory::data_type::bf16, rounds);
  return 0;
}
