// What an unusable file is refused with. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "skyfix/base/error.h"

namespace skyfix::testing {

// The message of the Error(bad_weights) that `call` throws; a failure of the test when it throws
// none, or another.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights) << error.what();
    EXPECT_FALSE(error.file().empty()) << error.what();
    return error.message();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

// The text of the Error of that reason.
template <class Call>
std::string refusal(Reason reason, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), reason) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace skyfix::testing
