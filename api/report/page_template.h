// The text of api/report/page.html, which the build puts into the program.
#ifndef LEMMA_API_REPORT_PAGE_TEMPLATE_H_
#define LEMMA_API_REPORT_PAGE_TEMPLATE_H_

namespace lemma::api {

extern const char kReportTemplate[];

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_TEMPLATE_H_
