// Writes the top of a report's page: a summary that a reader understands within ten seconds.
// Internal to the reports.
#ifndef LEMMA_API_REPORT_SUMMARY_H_
#define LEMMA_API_REPORT_SUMMARY_H_

#include <string>

#include "api/report/page.h"

namespace lemma::api {

// HTML with the title, one sentence, cards with numbers, the changes in words, and the commands
// that repeat the run and check its certificate.
std::string SummaryOf(const Report& report);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_SUMMARY_H_
