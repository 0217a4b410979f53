// Pictures as network input.
#pragma once

#include <ATen/ATen.h>

#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/placement.h"

namespace skyfix::nn {

// fp32 [1, channels, H, W] in 0..1 on the device; copied.
at::Tensor picture_tensor(const PictureView& picture, DeviceKind device);

}  // namespace skyfix::nn
