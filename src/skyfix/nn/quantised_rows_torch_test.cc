#include "skyfix/nn/quantised_rows_torch.h"

#include <gmock/gmock.h>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {
namespace {

constexpr std::int64_t kRows = 40, kHeads = 3, kSize = 64;

at::Tensor made_rows(at::ScalarType type = at::kFloat) {
  at::manual_seed(5);
  at::Tensor rows = at::randn({kRows, kHeads, kSize});
  rows.select(0, 3).mul_(1e3);  // heads of very different sizes
  rows.select(0, 4).mul_(1e-6);
  rows.select(0, 5).zero_();
  return rows.to(type);
}

at::Tensor first_row(std::int64_t row, const at::Device& device = at::kCPU) {
  return at::full({1}, row, at::TensorOptions().dtype(at::kLong).device(device));
}

at::Tensor back(const QuantisedRows& rows, std::int64_t count) {
  at::Tensor to = at::empty({count, kHeads, kSize}, rows.values.options().dtype(at::kFloat));
  dequantise(rows, to);
  return to;
}

TEST(QuantisedRows, Int8StaysWithinHalfAStepOfEachHead) {
  const at::Tensor rows = made_rows();
  QuantisedRows stored = empty_quantised_rows(kRows, kHeads, kSize, EightBits::int8, at::kCPU);
  quantise(rows, first_row(0), stored);
  const at::Tensor step = stored.scales.to(at::kFloat).unsqueeze(-1);
  EXPECT_TRUE(((back(stored, kRows) - rows).abs() <= 0.5001 * step).all().item<bool>());
  // The scale is the largest entry's, a bfloat16 step above it at most.
  const at::Tensor largest = rows.abs().amax(-1);
  EXPECT_TRUE((stored.scales.to(at::kFloat) * 127 >= largest).all().item<bool>());
  EXPECT_TRUE((stored.scales.to(at::kFloat) * 127 <= largest * 1.008).all().item<bool>());
  EXPECT_TRUE(back(stored, kRows).select(0, 5).eq(0).all().item<bool>());
  EXPECT_EQ(stored.bytes(), kRows * kHeads * (kSize + 2));
}

TEST(QuantisedRows, Fp8KeepsARelativeSixteenthOfWhatIsNotTiny) {
  const at::Tensor rows = made_rows();
  QuantisedRows stored = empty_quantised_rows(kRows, kHeads, kSize, EightBits::fp8, at::kCPU);
  quantise(rows, first_row(0), stored);
  const at::Tensor largest = rows.abs().amax(-1, true);
  const at::Tensor off = (back(stored, kRows) - rows).abs();
  EXPECT_TRUE((off <= rows.abs() / 15 + largest * 3e-6).all().item<bool>());
}

TEST(QuantisedRows, GoWhereTheDeviceSaysAndOnlyWhatIsUsedComesBack) {
  QuantisedRows stored = empty_quantised_rows(kRows, kHeads, kSize, EightBits::int8, at::kCPU);
  const at::Tensor rows = made_rows().narrow(0, 0, 4);
  quantise(rows, first_row(10), stored);
  EXPECT_TRUE(stored.values.narrow(0, 0, 10).eq(0).all().item<bool>());
  EXPECT_TRUE(stored.values.narrow(0, 14, kRows - 14).eq(0).all().item<bool>());
  EXPECT_FALSE(stored.values.narrow(0, 10, 4).eq(0).all().item<bool>());
  at::Tensor to = at::full({kRows, kHeads, kSize}, 7.0);
  dequantise(stored, to, at::full({1}, 12, at::kInt));
  EXPECT_TRUE(to.narrow(0, 12, kRows - 12).eq(7).all().item<bool>());
  EXPECT_TRUE(to.narrow(0, 0, 12).equal(back(stored, 12)));
}

// A row of a wider tensor, as queries, keys and values come out of one product.
TEST(QuantisedRows, TakesRowsWithAStride) {
  const at::Tensor wide = at::cat({made_rows(), made_rows() * 2}, 1);
  const at::Tensor rows = wide.narrow(1, 0, kHeads);
  QuantisedRows a = empty_quantised_rows(kRows, kHeads, kSize, EightBits::int8, at::kCPU), b = a;
  b.values = a.values.clone();
  b.scales = a.scales.clone();
  quantise(rows, first_row(0), a);
  quantise(made_rows(), first_row(0), b);
  EXPECT_TRUE(a.values.equal(b.values));
}

TEST(QuantisedRows, AGpuStoresTheSameBytes) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  const CudaDevice opened = open_cuda_device();
  const at::Device device = torch_device(DeviceKind::cuda);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const EightBits bits : {EightBits::int8, EightBits::fp8}) {
      const at::Tensor rows = made_rows(type);
      QuantisedRows host = empty_quantised_rows(kRows + 9, kHeads, kSize, bits, at::kCPU);
      QuantisedRows card = empty_quantised_rows(kRows + 9, kHeads, kSize, bits, device);
      quantise_reference(rows, first_row(9), host);
      quantise(rows.to(device), first_row(9, device), card);
      EXPECT_TRUE(card.scales.to(at::kCPU).equal(host.scales)) << at::toString(type);
      const auto bytes = [](const at::Tensor& t) { return t.view(at::kByte).to(at::kCPU); };
      // The quotient is rounded by another division: a step of 1 in a thousand at most.
      const double share =
          bytes(card.values).ne(bytes(host.values)).to(at::kDouble).mean().item<double>();
      EXPECT_LE(share, 2e-3);
      at::Tensor here = at::zeros({kRows + 9, kHeads, kSize}, type);
      at::Tensor there = here.to(device);
      QuantisedRows same{card.values.to(at::kCPU), card.scales.to(at::kCPU)};
      dequantise_reference(same, here, at::full({1}, 33, at::kInt));
      dequantise(card, there, at::full({1}, 33, at::kInt).to(device));
      EXPECT_TRUE(there.to(at::kCPU).equal(here));
    }
  }
}

}  // namespace
}  // namespace skyfix::nn
