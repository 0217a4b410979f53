#include "skyfix/report/csv_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

TEST(CsvTable, QuotesWhatMustBe) {
  CsvTable table(';');
  table.add(std::vector<std::string>{"a,b", "c;d", "e\"f", "g\nh", ""});
  EXPECT_EQ(table.text(), "a,b;\"c;d\";\"e\"\"f\";\"g\nh\";\r\n");
  EXPECT_THROW(CsvTable('.'), Error);
}

TEST(CsvTable, NumbersKeepTheirDigits) {
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(std::nan("")), "");
  EXPECT_EQ(csv_number(std::optional<double>()), "");
}

}  // namespace
}  // namespace skyfix
