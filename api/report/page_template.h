// The text of api/report/page.html with its style and scripts (.css and .js files beside it), which
// the build puts into the program. HtmlPage (api/report/html.h) replaces @TITLE@ and @BODY@ in it.
#ifndef LEMMA_API_REPORT_PAGE_TEMPLATE_H_
#define LEMMA_API_REPORT_PAGE_TEMPLATE_H_

namespace lemma::api {

extern const char kReportTemplate[];

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_TEMPLATE_H_
