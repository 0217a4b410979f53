#include "skyfix/memory/footprint.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

TEST(Footprint, TypesByNameAndSize) {
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::int8}) {
    EXPECT_EQ(data_type_from_name(data_type_name(type), "--dtype"), type);
  }
  EXPECT_EQ(data_type_bytes(DataType::fp32), 4);
  EXPECT_EQ(data_type_bytes(DataType::bf16), 2);
  EXPECT_EQ(data_type_bytes(DataType::int8), 1);
  EXPECT_THROW(data_type_from_name("float", "--dtype"), Error);
}

TEST(Footprint, DeviceBytesAreTheSumOfAllKinds) {
  const ComponentNeed need{.owner = "x",
                           .weights_bytes = 1,
                           .workspace_bytes = 20,
                           .growth_bytes = 300,
                           .growth_count = 4,
                           .host_bytes = 99'999};
  EXPECT_EQ(need.device_bytes(), 1'221U);
}

}  // namespace
}  // namespace skyfix
