#include "api/execution/run_server.h"

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/models/option_error.h"
#include "api/models/tensor_files.h"
#include "base/json.h"

namespace lemma::api {

absl::Status ServeRuns(PreparedModel* model, std::istream& in, std::ostream& out) {
  out << "{\"ready\":true}" << std::endl;
  std::string line;
  while (std::getline(in, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t count = 0;
    if (words.empty()) continue;
    if (words[0] == "quit") break;
    if (words[0] == "run" && words.size() == 2 && absl::SimpleAtoi(words[1], &count)) {
      auto ms = model->Times(count);
      if (!ms.ok()) return ms.status();
      Json reply = Json::Object();
      reply.Set("ms", Json::Array(*ms));
      out << reply.ToString() << std::endl;
    } else if (words[0] == "save" && words.size() == 2) {
      auto outputs = model->Outputs();
      if (!outputs.ok()) return outputs.status();
      if (absl::Status s = SaveOutputs(model->graph(), *outputs, words[1]); !s.ok()) return s;
      out << "{\"saved\":" << outputs->size() << "}" << std::endl;
    } else {
      return OptionError(
          absl::StrCat("option serve: '", line, "' is none of: run N, save DIR, quit"));
    }
  }
  return absl::OkStatus();
}

}  // namespace lemma::api
