// Memory that a system library keeps until the program ends is no leak of ours. Graphviz asks
// fontconfig for fonts, which frees its lists at exit only if told to.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: read by LeakSanitizer
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
