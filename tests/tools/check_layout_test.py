"""Each rule of tools/check_layout.py: a file that breaks it, and its neighbor that does not."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, "tools")
import check_layout


def problems(**files):
    """Checks a tree of the given files; a key is a path with __ for / and _dot_ for a dot."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for key, text in files.items():
            path = root / key.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with contextlib.redirect_stderr(io.StringIO()):
            return check_layout.check(root)


TABLE = "// Comment.\nLEMMA_OP(relu)\nLEMMA_OP(concat)\n"


class IncludeTest(unittest.TestCase):
    def test_folder_rule(self):
        found = problems(graph__a_dot_cc='\n#include "rewrite/pattern.h"\n')
        self.assertEqual(
            found,
            [
                "graph/a.cc:2: graph/ may not use rewrite/pattern.h;"
                " it may use graph/, kernels/evaluate/, base/"
            ],
        )

    def test_allowed_includes(self):
        self.assertEqual(
            problems(
                rewrite__a_dot_cc='#include "graph/graph.h"\n#include "rewrite/pattern.h"\n',
                pet__a_dot_cc='#include "verifier/prover/prover.h"\n',
                optimizer__a_dot_cc='#include "runtime/measure.h"\n',
                cli__a_dot_cc='#include "verifier/smt.h"\n#include "runtime/plan.h"\n',
                tests__a_dot_cc='#include "pet/mutants/mutant.h"\n#include <vector>\n',
            ),
            [],
        )

    def test_only_the_interface(self):
        self.assertEqual(len(problems(pet__a_dot_h='#include "verifier/smt.h"\n')), 1)
        line = '#include "verifier/prover/prover_impl.h"\n'
        self.assertEqual(len(problems(pet__a_dot_h=line)), 1)
        self.assertEqual(len(problems(optimizer__a_dot_h='#include "runtime/plan.h"\n')), 1)

    def test_expressions_do_not_know_operators(self):
        self.assertEqual(len(problems(graph__expr__a_dot_cc='#include "graph/ops/relu.h"\n')), 1)
        self.assertEqual(problems(graph__ops__a_dot_cc='#include "graph/expr/index_expr.h"\n'), [])

    def test_the_small_checker_shares_nothing_with_the_prover(self):
        for used in [
            "graph/expr/polynomial.h", "verifier/prover/prover.h", "rewrite/rules/statement.h",
            "kernels/evaluate/evaluate.h", "graph/expr/compose.h",
        ]:
            line = f'#include "{used}"\n'
            self.assertEqual(len(problems(verifier__checker__a_dot_cc=line)), 1, used)
            self.assertEqual(problems(verifier__a_dot_cc=line), [], used)
        fine = '#include "rewrite/rules/rule_text.h"\n#include "verifier/checker/algebra.h"\n'
        self.assertEqual(problems(verifier__checker__a_dot_cc=fine), [])
        label = 'deps = ["//verifier/prover"]\n'
        self.assertEqual(len(problems(verifier__checker__BUILD_dot_bazel=label)), 1)

    def test_libraries_stay_in_their_folder(self):
        for header, home in [
            ("z3++.h", "verifier/a.cc"),
            ("z3_api.h", "verifier/a.cc"),
            ("dnnl.hpp", "runtime/cpu/a.cc"),
            ("oneapi/dnnl/dnnl.h", "runtime/cpu/a.cc"),
            ("onnx/onnx_pb.h", "graph/onnx/a.cc"),
            ("cuda_runtime.h", "runtime/cuda/a.cc"),
            ("nvrtc.h", "kernels/a.cc"),
            ("cudnn.h", "tests/runtime/cuda/a_test.cc"),
        ]:
            line = f"#include <{header}>\n"
            key = home.replace("/", "__").replace(".", "_dot_")
            self.assertEqual(problems(**{key: line}), [], header)
            self.assertEqual(len(problems(graph__a_dot_cc=line)), 1, header)
            self.assertEqual(len(problems(cli__a_dot_cc=line)), 1, header)

    def test_paths_start_at_the_root(self):
        found = problems(graph__a_dot_cc='#include "a.h"\n', graph__a_dot_h="")
        self.assertEqual(found, ['graph/a.cc:1: write "graph/a.h": paths start at the root'])


class TargetTest(unittest.TestCase):
    def test_folder_rule(self):
        text = 'cc_library(\n    deps = ["//generator"],\n)\n'
        self.assertEqual(len(problems(optimizer__BUILD_dot_bazel=text)), 1)
        self.assertEqual(problems(cli__BUILD_dot_bazel=text), [])

    def test_only_the_interface(self):
        self.assertEqual(problems(optimizer__BUILD_dot_bazel='["//runtime:measure"]\n'), [])
        self.assertEqual(len(problems(optimizer__BUILD_dot_bazel='["//runtime:plan"]\n')), 1)

    def test_libraries(self):
        text = '["//third_party:z3", "//third_party:absl"]\n'
        self.assertEqual(len(problems(optimizer__BUILD_dot_bazel=text)), 1)
        self.assertEqual(problems(verifier__BUILD_dot_bazel=text), [])
        self.assertEqual(len(problems(graph__BUILD_dot_bazel='["@local_cuda//:nvrtc"]\n')), 1)

    def test_visibility_is_no_dependency(self):
        text = 'visibility = ["//visibility:public", "//cli:__subpackages__"]\n'
        self.assertEqual(problems(graph__BUILD_dot_bazel=text), [])

    def test_only_some_rooms_are_public(self):
        text = 'package(default_visibility = ["//visibility:public"])\n'
        self.assertEqual(problems(api__BUILD_dot_bazel=text), [])
        found = problems(pet__mutants__BUILD_dot_bazel=text)
        self.assertEqual(found, [
            "pet/mutants/BUILD.bazel:1: pet/ is not public: name the packages that may use it"])


class OperatorNameTest(unittest.TestCase):
    def test_comparisons_are_found(self):
        for line in [
            'if (node.op().name() == "relu") {',
            'if (op->name != "concat") {',
            'if ("relu" == node->op_name) {',
            'if (node.IsOp("relu")) {',
            "if (node->IsOp(name)) {",
        ]:
            found = problems(graph__ops__op_table_dot_inc=TABLE, optimizer__a_dot_cc=line)
            self.assertEqual(len(found), 1, line)

    def test_other_strings_and_uses_are_fine(self):
        for line in [
            'if (flag == "relu") {',
            'if (op->name == "no_such_operator") {',
            'builder.Add("relu", {x});',
            "bool IsOp(absl::string_view name) const;",
            '// never op.name == "relu"',
        ]:
            found = problems(graph__ops__op_table_dot_inc=TABLE, optimizer__a_dot_cc=line)
            self.assertEqual(found, [], line)

    def test_places_that_may(self):
        line = 'if (op->name == "relu") {\n'
        for key in [
            "graph__ops__relu_dot_cc",
            "graph__onnx__import_dot_cc",
            "tests__graph__a_test_dot_cc",
        ]:
            found = problems(**{"graph__ops__op_table_dot_inc": TABLE, key: line})
            self.assertEqual(found, [], key)
        found = problems(graph__ops__op_table_dot_inc=TABLE, runtime__plan_dot_cc=line)
        self.assertEqual(len(found), 1)

    def test_kernels_name_operators_in_their_registration(self):
        def found(text):
            return problems(graph__ops__op_table_dot_inc=TABLE,
                            runtime__cpu__kernels__a_dot_cc=text)

        registration = "KernelDef MakeReluKernel() {\n  def.ops = {\"relu\"};\n}\n"
        self.assertEqual(found(registration), [])
        self.assertEqual(found('KernelDef MakeReluKernel() { return Make("relu", Build); }\n'), [])
        self.assertEqual(found('std::vector<Row> MakeRows() {\n  return {{"relu"}};\n}\n'), [])
        self.assertEqual(found('const char* const kNames[] = {"gather"};\n'), [])
        list_of_names = 'const char* const kNames[] = {"relu"};\n'
        for text in [list_of_names, registration + list_of_names,
                     'KernelDef MakeA() { return Make("concat"); }\n' + list_of_names]:
            self.assertEqual(
                found(text),
                [f"runtime/cpu/kernels/a.cc:{text.count(chr(10))}: names the operator \"relu\""
                 " outside of a registration, KernelDef Make…(): derive it from the operator's"
                 " definition"])
        self.assertEqual(len(found('if (node.IsOp("relu")) {\n')), 2)

    def test_without_a_table_nothing_is_compared(self):
        self.assertEqual(problems(optimizer__a_dot_cc='if (op->name == "relu") {\n'), [])


class TopLevelTest(unittest.TestCase):
    def test_unknown_name(self):
        found = problems(utils__a_dot_cc="", _dot_bazelrc="", LICENSE="")
        self.assertEqual(found, ["utils: not in the list of top-level names"])



class FolderTest(unittest.TestCase):
    def test_many_files_are_several_rooms(self):
        files = {f"pet__f{n}_dot_cc": "" for n in range(31)}
        self.assertEqual(
            problems(**files), ["pet: has 31 source files directly in it; at most 30"])
        files.popitem()
        self.assertEqual(problems(**files), [])


class TypeTest(unittest.TestCase):
    def test_two_headers_define_one_name(self):
        one = "namespace lemma {\nstruct Candidate {\n  int a;\n};\n}  // namespace lemma\n"
        other = one.replace("struct Candidate", "class Candidate : public Thing")
        self.assertEqual(
            problems(optimizer__a_dot_h=one, pet__b_dot_h=other),
            ["pet/b.h: defines lemma::Candidate, as optimizer/a.h does"],
        )

    def test_names_apart(self):
        one = "namespace lemma {\nstruct Candidate {\n};\n}  // namespace lemma\n"
        self.assertEqual(
            problems(
                optimizer__a_dot_h=one,
                pet__b_dot_h=one.replace("lemma", "lemma::pet"),
                pet__c_dot_h="namespace lemma {\nstruct Candidate;\nclass A::Candidate {\n};\n"
                "struct B {\n  struct Candidate {\n  };\n};\n}  // namespace lemma\n",
            ),
            [],
        )

    def test_source_files_too(self):
        one = "namespace lemma {\nstruct Candidate {\n};\n}  // namespace lemma\n"
        expected = ["pet/b.cc: defines lemma::Candidate, as optimizer/a.h does"]
        self.assertEqual(problems(optimizer__a_dot_h=one, pet__b_dot_cc=one), expected)
        for head in [
            "enum class Candidate : int {",
            "enum Candidate {",
            "template <class T> class Candidate final {",
            "class Candidate\n    : public Thing,\n      public Other {",
        ]:
            other = one.replace("struct Candidate {", head)
            self.assertEqual(problems(optimizer__a_dot_h=one, pet__b_dot_cc=other), expected, head)

    def test_unnamed_namespaces_are_a_files_own(self):
        one = "namespace lemma {\nstruct Candidate {\n};\n}  // namespace lemma\n"
        own = one.replace("lemma {\n", "lemma {\nnamespace {\n").replace(
            "}  // namespace lemma", "}  // namespace\n}  // namespace lemma")
        self.assertEqual(problems(optimizer__a_dot_h=one, pet__b_dot_cc=own, pet__c_dot_cc=own), [])
        after = own.replace("}  // namespace\n", "}  // namespace\nclass Candidate {\n};\n")
        self.assertEqual(len(problems(optimizer__a_dot_h=one, pet__b_dot_cc=after)), 1)


if __name__ == "__main__":
    unittest.main()
