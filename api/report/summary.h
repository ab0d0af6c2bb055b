// Writes the top of a report's page: what a reader learns in ten seconds. Internal to the reports.
#ifndef LEMMA_API_REPORT_SUMMARY_H_
#define LEMMA_API_REPORT_SUMMARY_H_

#include <string>

#include "api/report/page.h"

namespace lemma::api {

// HTML: the title and a sentence, cards with numbers, what changed, and how to repeat and check.
std::string SummaryOf(const Report& report);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_SUMMARY_H_
