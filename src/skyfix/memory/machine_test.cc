#include "skyfix/memory/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyfix {
namespace {

using testing::ElementsAre;

TEST(Machine, ReadsTheKernelsTables) {
  EXPECT_EQ(processor_in("vendor_id\t: X\nmodel name\t: AMD EPYC 9554 \nmodel name\t: other\n"),
            "AMD EPYC 9554");
  EXPECT_EQ(distribution_in("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(distribution_in("PRETTY_NAME=Plain"), "Plain");
  const char* meminfo = "MemTotal:       24010 kB\nMemFree: 1 kB\nMemAvailable:    2 kB\n";
  EXPECT_EQ(memory_line_in(meminfo, "MemTotal"), 24010u * 1024);
  EXPECT_EQ(memory_line_in(meminfo, "MemAvailable"), 2048u);
}

TEST(Machine, MissingLinesAreUnknownNotWrong) {
  EXPECT_EQ(processor_in(""), "");
  EXPECT_EQ(distribution_in("PRETTY_NAME"), "");
  EXPECT_EQ(memory_line_in("MemTotal: lots\n", "MemTotal"), 0u);
  EXPECT_EQ(memory_line_in("", "MemTotal"), 0u);
}

TEST(Machine, EachLibraryIsListedOnce) {
  EXPECT_THAT(libraries_in("7f0-7f1 r-xp 0 08:01 12 /usr/lib/libb.so.2\n"
                           "7f1-7f2 r--p 0 08:01 12 /usr/lib/libb.so.2\n"
                           "7f2-7f3 r--p 0 08:01 13 /usr/lib/liba.so\n"
                           "7f4-7f5 rw-p 0 00:00 0 [heap]\n"
                           "7f6-7f7 r--p 0 08:01 14 /usr/bin/program"),
              ElementsAre("/usr/lib/liba.so", "/usr/lib/libb.so.2"));
}

TEST(Machine, ThisMachineIsKnown) {
  const MachineFacts facts = machine_facts();
  EXPECT_GT(facts.cores, 0u);
  EXPECT_GT(facts.memory_bytes, 0u);
  EXPECT_FALSE(loaded_libraries().empty());
}

}  // namespace
}  // namespace skyfix
