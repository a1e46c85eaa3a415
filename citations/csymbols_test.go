package citations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is the tree of testdata/small, by path.
func small(t testing.TB) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	root := filepath.Join("testdata", "small")
	err := filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		files[filepath.ToSlash(rel)] = []byte(strings.ReplaceAll(string(data), "\r\n", "\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// lineOf is the line of the small tree's file that holds text once.
func lineOf(t testing.TB, data []byte, text string) int {
	t.Helper()
	at := strings.Index(string(data), text)
	if at < 0 || strings.Count(string(data), text) != 1 {
		t.Fatalf("%q stands %d times", text, strings.Count(string(data), text))
	}
	return 1 + strings.Count(string(data[:at]), "\n")
}

func TestSymbolAt(t *testing.T) {
	files := small(t)
	for _, tt := range []struct{ file, text, symbol string }{
		{"kernel/ring.c", "for ((i) = 0;", "ring_for_each"},
		{"kernel/ring.c", "return ring->written > 100", "ring_full"},
		{"kernel/ring.c", "ring_throw_away(struct ring *ring, int fast)", "ring_throw_away"},
		{"kernel/ring.c", "ring->thrown_away++;", "ring_throw_away"},
		{"kernel/ring.c", "ring->written++;", "ring_write"},
		{"kernel/ring.c", "*value = 1;", "ring_read"},
		{"kernel/ring.c", `"thrown away: %lu\n"`, "ring_stat"},
		{"kernel/ring.c", ".write = ring_write", "ring_fops"},
		{"kernel/ring.c", "__entry->n = n;", "ring_lost"},
		{"kernel/ring.c", "WRITE_ONCE(ring->written, 0)", "ring_reset"},
		{"kernel/ring.c", "The writer never waits", ""},
		{"kernel/ring.c", "EXPORT_SYMBOL_GPL", ""},
		{"include/ring.h", "int\t\toverwrite", "ring"},
		{"include/ring.h", "#define RING_HEADER_BYTES", "RING_HEADER_BYTES"},
		{"include/ring.h", "void ring_write(", ""},
	} {
		f := newFile(tt.file, files[tt.file])
		if got := f.parse().symbolAt(lineOf(t, files[tt.file], tt.text)); got != tt.symbol {
			t.Errorf("%s: %q is in %q, want %q", tt.file, tt.text, got, tt.symbol)
		}
	}
}

func TestSymbolAliases(t *testing.T) {
	f := newFile("kernel/ring.c", small(t)["kernel/ring.c"])
	for _, name := range []string{"ring_stat", "sys_ring_stat", "SYSCALL_DEFINE2(ring_stat)", "trace_ring_lost"} {
		if len(f.parse().ranges(name)) != 1 {
			t.Errorf("no symbol %s", name)
		}
	}
	if r := f.parse().ranges("ring_old_write"); len(r) != 0 {
		t.Errorf("ring_old_write is behind #if 0 and has the lines %v", r)
	}
}

// The shapes that are hard to tell without a compiler.
func TestSymbolShapes(t *testing.T) {
	for _, tt := range []struct{ name, src, text, symbol string }{
		{"attribute before", "static __printf(1, 2) void say(const char *f, ...)\n{\n\there();\n}\n", "here", "say"},
		{"attribute behind", "void lock_it(void) __acquires(lock)\n{\n\there();\n}\n", "here", "lock_it"},
		{"returns a pointer to a structure", "struct page *alloc(int n)\n{\n\there();\n}\n", "here", "alloc"},
		{"old style", "int f(a, b)\n\tint a;\n\tchar *b;\n{\n\there();\n}\n", "here", "f"},
		{"typedef", "typedef struct {\n\tint here;\n} thing_t;\n", "here", "thing_t"},
		{"array of structures", "static struct x table[] = {\n\t{ .here = 1 },\n};\n", "here", "table"},
		{"enum", "enum mode {\n\there,\n};\n", "here", "mode"},
		{"macro in a function", "int f(void)\n{\n#define M(x) \\\n\there(x)\n\treturn M(1);\n}\n", "here", "M"},
		{"function behind a macro in it", "int f(void)\n{\n#define M 1\n\treturn here;\n}\n", "here", "f"},
		{"brace that only one branch opens", "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n\there();\n}\nint g(void)\n{\n}\n", "here", "f"},
		{"next function after unbalanced branches", "int f(void)\n{\n#ifdef A\n\tif (a) {\n#else\n\tif (b) {\n#endif\n\t}\n}\nint g(void)\n{\n\there();\n}\n", "here", "g"},
		{"an unclosed parenthesis", "int f(void)\n{\n\tBROKEN(\n}\nint g(void)\n{\n\there();\n}\n", "here", "g"},
		{"brace in a string", "int f(void)\n{\n\tp(\"}\");\n\there();\n}\n", "here", "f"},
		{"brace as a character", "int f(void)\n{\n\tp('}');\n\there();\n}\n", "here", "f"},
		{"apostrophe in an error", "#error don't\nint f(void)\n{\n\there();\n}\n", "here", "f"},
		{"macro without semicolon", "DEFINE_THING(x)\nstatic int y;\nint f(void)\n{\n\there();\n}\n", "here", "f"},
		{"second argument names", "DEFINE_PER_CPU(int, counter) = {\n\there,\n};\n", "here", "counter"},
		{"extern C", "extern \"C\" {\nint f(void)\n{\n\there();\n}\n}\n", "here", "f"},
		{"bpf call", "BPF_CALL_2(bpf_thing, int, a, int, b)\n{\n\there();\n}\n", "here", "bpf_thing"},
		{"static call of a macro", "static DEFINE_MUTEX(here_lock);\n", "here", "here_lock"},
	} {
		f := newFile("x.c", []byte(tt.src))
		if got := f.parse().symbolAt(lineOf(t, []byte(tt.src), tt.text)); got != tt.symbol {
			t.Errorf("%s: in %q, want %q", tt.name, got, tt.symbol)
		}
	}
}

func TestStripComments(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"a /* b */ c", "a         c"},
		{"a // b\nc", "a     \nc"},
		{"a // b\\\nc\nd", "a      \n \nd"},
		{`"/* no */" x`, `"/* no */" x`},
		{`'"' /* x */`, `'"'        `},
		{"a /* b\nc */ d", "a     \n     d"},
		{"#if 0\na\n#else\nb\n#endif", "#if 0\n \n#else\nb\n#endif"},
		{"#if 0\n#if 1\na\n#endif\nb\n#endif\nc", "#if 0\n     \n \n      \n \n#endif\nc"},
		{"/* open", "       "},
	} {
		if got := string(stripComments([]byte(tt.src))); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.src, got, tt.want)
		}
	}
}

// Whatever the text is, stripping keeps every line and column, and every symbol
// has lines of the file.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"int f(void)\n{\n}\n", "#if 0\n#else\n#endif\n/*", "\"\\\n\"", "DEFINE_X(a, b)\n{ ) } (", "typedef struct { int a; } b;\n#define x(\\\n)\n",
		"int f(a) int a; {", "#else\n#endif\n#if\n}", "'\\", "a = { [1] = { } };"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out := stripComments(src)
		if len(out) != len(src) || strings.Count(string(out), "\n") != strings.Count(string(src), "\n") {
			t.Fatalf("%d bytes and %d lines became %d and %d", len(src), strings.Count(string(src), "\n"), len(out), strings.Count(string(out), "\n"))
		}
		x := newFile("x.c", src)
		c := x.parse()
		lines := x.fold().lines()
		for _, s := range c.syms {
			if s.First < 1 || s.Last < s.First || s.Last > lines+1 {
				t.Fatalf("%s has lines %d to %d of %d", s.Name, s.First, s.Last, lines)
			}
		}
		for n := 1; n <= min(lines, 50); n++ {
			c.symbolAt(n)
			x.place("x.c", "", n, string(x.fold().line(n)))
		}
	})
}
