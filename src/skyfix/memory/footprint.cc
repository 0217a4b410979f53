#include "skyfix/memory/footprint.h"

#include "skyfix/base/error.h"

namespace skyfix {

std::string_view data_type_name(DataType type) {
  switch (type) {
    case DataType::fp32:
      return "fp32";
    case DataType::bf16:
      return "bf16";
    case DataType::int8:
      return "int8";
  }
  return "";
}

DataType data_type_from_name(std::string_view name, std::string_view option) {
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::int8}) {
    if (name == data_type_name(type)) return type;
  }
  throw Error(Reason::bad_option,
              std::string(option) + ": '" + std::string(name) + "' is none of fp32, bf16, int8");
}

}  // namespace skyfix
