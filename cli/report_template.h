// cli/report_page.html, as the build put it into the program.
#ifndef LEMMA_CLI_REPORT_TEMPLATE_H_
#define LEMMA_CLI_REPORT_TEMPLATE_H_

namespace lemma::cli {

extern const char kReportTemplate[];

}  // namespace lemma::cli

#endif  // LEMMA_CLI_REPORT_TEMPLATE_H_
