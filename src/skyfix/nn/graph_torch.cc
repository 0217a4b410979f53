#include "skyfix/nn/graph_torch.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>

#include "skyfix/memory/device.h"
#include "skyfix/memory/owner_scope.h"

namespace skyfix::nn {
namespace {

std::string key_of(std::string_view name, const std::vector<at::Tensor>& inputs) {
  std::string key(name);
  for (const at::Tensor& input : inputs) {
    key += '/' + std::to_string(static_cast<int>(input.scalar_type()));
    for (const std::int64_t size : input.sizes()) key += ',' + std::to_string(size);
  }
  return key;
}

std::uint64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace

bool GraphRegions::wanted_by_environment() {
  const char* given = std::getenv("SKYFIX_NO_GRAPHS");
  return given == nullptr || std::string_view(given).empty() || std::string_view(given) == "0";
}

void GraphRegions::run(std::string_view name, const Tensors& inputs, const Work& work,
                       const User& use) {
  const bool possible = !inputs.empty() && inputs[0].is_cuda() && cuda_nn() != nullptr;
  // Held until the outputs have been read: another thread's replay would write over them.
  std::unique_lock lock(mutex_);
  if (possible && enabled_) {
    const std::string key = key_of(name, inputs);
    Region* region = find(key);
    if (region == nullptr && !refused_.contains(key) && !met_.insert(key).second) {
      region = record(key, inputs, work);
    }
    if (region != nullptr) {
      for (std::size_t i = 0; i < inputs.size(); ++i) region->inputs[i].copy_(inputs[i]);
      region->recording->replay();
      ++figures_.replayed;
      return use(RegionOutputs(region->outputs, /*borrowed=*/true));
    }
  }
  lock.unlock();
  use(RegionOutputs(work(inputs), /*borrowed=*/false));
}

GraphRegions::Region* GraphRegions::find(const std::string& key) {
  const auto found = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const Region& region) { return region.key == key; });
  if (found == regions_.end()) return nullptr;
  regions_.splice(regions_.begin(), regions_, found);
  return &regions_.front();
}

GraphRegions::Region* GraphRegions::record(const std::string& key, const Tensors& inputs,
                                           const Work& work) {
  while (regions_.size() >= std::max<std::size_t>(most_held_, 1)) regions_.pop_back();
  const OwnerScope owner(kGraphOwner);
  try {
    Region region;
    region.key = key;
    for (const at::Tensor& input : inputs) region.inputs.push_back(input.clone());
    region.recording = cuda_nn()->record([&] { work(region.inputs); },
                                         [&] { region.outputs = work(region.inputs); });
    region.bytes = bytes_of(region.inputs) + bytes_of(region.outputs);
    regions_.push_front(std::move(region));
    ++figures_.recorded;
    return &regions_.front();
  } catch (const c10::Error&) {
  } catch (const OutOfDeviceMemory&) {
  } catch (const DeviceFailure&) {
    // If the device itself is at fault, the eager call says so.
  }
  refused_.insert(key);
  ++figures_.failed;
  return nullptr;
}

void GraphRegions::enable(bool enabled) {
  const std::lock_guard lock(mutex_);
  enabled_ = enabled;
}

GraphFigures GraphRegions::figures() const {
  const std::lock_guard lock(mutex_);
  GraphFigures figures = figures_;
  figures.held = static_cast<int>(regions_.size());
  for (const Region& region : regions_) figures.bytes += region.bytes;
  return figures;
}

std::uint64_t GraphRegions::release_unpinned() {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Region& region : regions_) bytes += region.bytes;
  regions_.clear();
  // Recorded anew only where there is room: what was met is met again first.
  met_.clear();
  return bytes;
}

}  // namespace skyfix::nn
