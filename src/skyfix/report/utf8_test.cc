#include "skyfix/report/utf8.h"

#include <gtest/gtest.h>

namespace skyfix {
namespace {

TEST(Utf8, KeepsWellFormedText) {
  EXPECT_EQ(utf8_text("Höhe 高度 🚁/a.jpg"), "Höhe 高度 🚁/a.jpg");
  EXPECT_EQ(utf8_width("Höhe"), 4u);
  EXPECT_EQ(utf8_width("🚁高"), 2u);
}

TEST(Utf8, SpellsOutStrayBytes) {
  EXPECT_EQ(utf8_text("a\xFFz"), "a\\xFFz");
  EXPECT_EQ(utf8_text("\xC3"), "\\xC3");                           // cut
  EXPECT_EQ(utf8_text("\xC0\xAF"), "\\xC0\\xAF");                  // overlong '/'
  EXPECT_EQ(utf8_text("\xED\xA0\x80"), "\\xED\\xA0\\x80");         // surrogate
  EXPECT_EQ(utf8_text("\xF4\x90\x80\x80").substr(0, 4), "\\xF4");  // beyond U+10FFFF
  EXPECT_NE(utf8_text("a\xFE"), utf8_text("a\xFF"));
}

TEST(Utf8, EscapesForXml) {
  EXPECT_EQ(xml_text("<a & 'b' \"c\">"), "&lt;a &amp; &#39;b&#39; &quot;c&quot;&gt;");
  EXPECT_EQ(xml_text(std::string_view("a\0b\x1B", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(xml_text("\xFF<"), "\\xFF&lt;");
}

}  // namespace
}  // namespace skyfix
