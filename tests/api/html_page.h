// Checks the properties that every HTML page that Lemma writes must have.
#ifndef LEMMA_TESTS_API_HTML_PAGE_H_
#define LEMMA_TESTS_API_HTML_PAGE_H_

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {

// How often `part` occurs in `text`.
inline int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Expects that the page loads no scripts, images or styles from outside, and
// that no placeholder for the body is left.
inline void ExpectSelfContained(const std::string& page) {
  using testing::HasSubstr;
  using testing::Not;
  EXPECT_THAT(page, Not(HasSubstr("@BODY@")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_EQ(Count(page, "href=\""), Count(page, "href=\"#"));
  EXPECT_EQ(Count(page, "://"), Count(page, "=\"http://www.w3.org/"));  // XML namespaces
}

}  // namespace lemma

#endif  // LEMMA_TESTS_API_HTML_PAGE_H_
