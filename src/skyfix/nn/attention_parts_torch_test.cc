#include "skyfix/nn/attention_parts_torch.h"

#include <gmock/gmock.h>

#include <limits>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {
namespace {

constexpr std::int64_t kTokens = 33, kHeads = 3, kSize = 64;
constexpr double kScale = 0.125;

at::Tensor rows(std::int64_t count, std::uint64_t seed, double size = 1) {
  at::manual_seed(seed);
  return at::randn({count, kHeads, kSize}) * size;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kCPU, at::kFloat) - b.to(at::kCPU, at::kFloat)).abs().max().item<double>();
}

at::Tensor used_rows(std::int64_t count, const at::Device& device = at::kCPU) {
  return at::full({1}, count, at::TensorOptions().dtype(at::kInt).device(device));
}

TEST(AttentionParts, TheCpusKernelAgreesWithTheExplicitWay) {
  const at::Tensor q = rows(kTokens, 1, 3), k = rows(200, 2, 3), v = rows(200, 3);
  const AttentionPart found = attend_part(q, k, v, kScale, AttentionKernel::flash);
  const AttentionPart wanted = attend_part_reference(q, k, v, kScale);
  EXPECT_LE(largest_difference(found.out, wanted.out), 2e-5);
  EXPECT_LE(largest_difference(found.log_sum, wanted.log_sum), 1e-5);
  // Rows of wider tensors, as a product's thirds are.
  const at::Tensor wide = at::cat({k, v}, 1);
  const AttentionPart strided =
      attend_part(q, wide.narrow(1, 0, kHeads), wide.narrow(1, kHeads, kHeads), kScale, {});
  EXPECT_LE(largest_difference(strided.out, wanted.out), 2e-5);
}

TEST(AttentionParts, TwoPartsAreTheWhole) {
  const at::Tensor q = rows(kTokens, 1, 3), k = rows(200, 2, 3), v = rows(200, 3);
  const AttentionPart whole = attend_part(q, k, v, kScale, AttentionKernel::flash);
  for (const std::int64_t cut : {1, 77, 199}) {
    const auto part = [&](std::int64_t first, std::int64_t count) {
      return attend_part(q, k.narrow(0, first, count), v.narrow(0, first, count), kScale,
                         AttentionKernel::cudnn);
    };
    const AttentionPart a = part(0, cut), b = part(cut, 200 - cut);
    EXPECT_LE(largest_difference(merge_parts(a, b), whole.out), 2e-5) << cut;
    EXPECT_LE(largest_difference(merge_parts(b, a), whole.out), 2e-5) << cut;
    EXPECT_GT(largest_difference(a.out, whole.out), 1e-3) << "a part alone is not the whole";
    EXPECT_LE(largest_difference(at::logaddexp(a.log_sum, b.log_sum), whole.log_sum), 1e-5);
  }
}

// Whatever stands in the result of a part without keys, and however its sum is marked.
TEST(AttentionParts, APartWithoutKeysWeighsNothing) {
  const at::Tensor q = rows(kTokens, 1), k = rows(20, 2), v = rows(20, 3);
  const AttentionPart whole = attend_part(q, k, v, kScale, AttentionKernel::flash);
  for (const double mark : {1.0, -1.0}) {
    const float infinite = static_cast<float>(mark) * std::numeric_limits<float>::infinity();
    const AttentionPart none{at::full_like(q, std::numeric_limits<float>::quiet_NaN()),
                             at::full({kHeads, kTokens}, infinite)};
    EXPECT_TRUE(merge_parts(whole, none).equal(whole.out.contiguous()));
    EXPECT_TRUE(merge_parts(none, whole).equal(whole.out.contiguous()));
    EXPECT_TRUE(merge_parts(none, none).equal(at::zeros_like(q)));
  }
}

TEST(AttentionParts, OnlyRowsInUseAreSeen) {
  const at::Tensor q = rows(kTokens, 1);
  at::Tensor k = rows(50, 2), v = rows(50, 3);
  k.narrow(0, 30, 20).fill_(std::numeric_limits<float>::quiet_NaN());
  v.narrow(0, 30, 20).fill_(std::numeric_limits<float>::quiet_NaN());
  const KeyBounds bounds(kTokens, 50, at::kCPU);
  const AttentionPart used = attend_used(q, k, v, used_rows(30), bounds, kScale);
  const AttentionPart narrow =
      attend_part(q, k.narrow(0, 0, 30), v.narrow(0, 0, 30), kScale, AttentionKernel::flash);
  EXPECT_TRUE(used.out.equal(narrow.out));
  EXPECT_TRUE(used.log_sum.equal(narrow.log_sum));
  const AttentionPart none = attend_used(q, k, v, used_rows(0), bounds, kScale);
  EXPECT_TRUE(none.log_sum.isinf().all().item<bool>());
}

TEST(AttentionParts, KernelsOfAGpuAgreeWithTheExplicitWay) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  const CudaDevice opened = open_cuda_device();
  const at::Device device = torch_device(DeviceKind::cuda);
  const at::Tensor q = rows(kTokens, 1), k = rows(500, 2), v = rows(500, 3);
  const auto half = [&](const at::Tensor& t) { return t.to(device, at::kBFloat16); };
  const auto rounded = [](const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kFloat); };
  const AttentionPart wanted = attend_part_reference(rounded(q), rounded(k), rounded(v), kScale);
  const AttentionPart full = attend_part(q.to(device), k.to(device), v.to(device), kScale, {});
  EXPECT_LE(largest_difference(full.out, attend_part_reference(q, k, v, kScale).out), 1e-5);
  EXPECT_LE(largest_difference(full.log_sum, attend_part_reference(q, k, v, kScale).log_sum), 1e-5);
  for (const AttentionKernel kernel :
       {AttentionKernel::flash, AttentionKernel::cudnn, AttentionKernel::fixed}) {
    const AttentionPart found = attend_part(half(q), half(k), half(v), kScale, kernel);
    EXPECT_LE(largest_difference(found.out, wanted.out), 4e-3) << attention_kernel_name(kernel);
    EXPECT_LE(largest_difference(found.log_sum, wanted.log_sum), 2e-3);
  }
  const KeyBounds bounds(kTokens, 500, device);
  AttentionPart parts[2];
  for (const std::int64_t count : {0, 1, 123, 500}) {
    const AttentionPart found =
        attend_used(half(q), half(k), half(v), used_rows(count, device), bounds, kScale);
    if (count == 0) {
      EXPECT_TRUE(found.log_sum.isinf().all().item<bool>());
      continue;
    }
    const AttentionPart narrow = attend_part_reference(rounded(q), rounded(k.narrow(0, 0, count)),
                                                       rounded(v.narrow(0, 0, count)), kScale);
    EXPECT_LE(largest_difference(found.out, narrow.out), 8e-3) << count;
    if (count == 123) parts[0] = found;
  }
  parts[1] = attend_part(half(q), half(k.narrow(0, 123, 377)), half(v.narrow(0, 123, 377)), kScale,
                         AttentionKernel::cudnn);
  EXPECT_LE(largest_difference(merge_parts(parts[0], parts[1]), wanted.out), 8e-3);
  EXPECT_LE(largest_difference(merge_parts(parts[0], parts[1]),
                               merge_parts_reference(parts[0], parts[1])),
            8e-3);
}

}  // namespace
}  // namespace skyfix::nn
