#include "skyfix/nn/picture_torch.h"

#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {

at::Tensor picture_tensor(const PictureView& picture, DeviceKind device) {
  const at::Tensor bytes =
      at::from_blob(const_cast<std::uint8_t*>(picture.pixels),
                    {picture.height, picture.width, picture.channels}, at::kByte);
  return bytes.to(torch_device(device), /*dtype=*/at::kByte, false, /*copy=*/true)
      .permute({2, 0, 1})
      .unsqueeze(0)
      .to(at::kFloat, false, false, at::MemoryFormat::Contiguous)
      .div_(255.0);
}

}  // namespace skyfix::nn
