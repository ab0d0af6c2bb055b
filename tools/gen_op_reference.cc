// Prints the operator reference, or writes it to docs/operators.md with --write.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "graph/op_reference.h"

int main(int argc, char** argv) {
  const std::string text = lemma::OperatorReference();
  if (argc == 1) {
    std::cout << text;
    return 0;
  }
  if (argc != 2 || std::strcmp(argv[1], "--write") != 0) {
    std::cerr << "usage: gen_op_reference [--write]\n";
    return 2;
  }
  // Set by `bazel run`; otherwise the working directory is the checkout.
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path = std::string(root == nullptr ? "." : root) + "/docs/operators.md";
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    std::cerr << path << ": cannot be written\n";
    return 2;
  }
  return 0;
}
