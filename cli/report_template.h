// The text of cli/report_page.html, which the build puts into the program.
#ifndef LEMMA_CLI_REPORT_TEMPLATE_H_
#define LEMMA_CLI_REPORT_TEMPLATE_H_

namespace lemma::cli {

extern const char kReportTemplate[];

}  // namespace lemma::cli

#endif  // LEMMA_CLI_REPORT_TEMPLATE_H_
