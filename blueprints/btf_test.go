package blueprints

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openTestBTF(t *testing.T, version string) *BTF {
	t.Helper()
	b, err := OpenBTF(filepath.Join("btf", version+".btf"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLayout holds layouts against what pahole 1.24 prints for the whole BTF of
// the same kernels, from which the committed blobs were cut.
func TestLayout(t *testing.T) {
	t.Run("6.1.192 buffer_page", func(t *testing.T) {
		l, err := openTestBTF(t, "6.1.192").Layout("buffer_page")
		if err != nil {
			t.Fatal(err)
		}
		want := &Layout{Kind: "struct", Name: "buffer_page", Size: 56, Fields: []Field{
			{Name: "list", Type: "struct list_head", Offset: 0, Size: 128},
			{Name: "write", Type: "local_t", Offset: 128, Size: 64},
			{Name: "read", Type: "unsigned int", Offset: 192, Size: 32},
			{Name: "entries", Type: "local_t", Offset: 256, Size: 64},
			{Name: "real_end", Type: "unsigned long", Offset: 320, Size: 64},
			{Name: "page", Type: "struct buffer_data_page *", Offset: 384, Size: 64},
		}, Padding: []Hole{{Offset: 224, Size: 32, After: "read"}}}
		if d := cmp.Diff(want, l); d != "" {
			t.Error(d)
		}
	})
	t.Run("6.1.192 ring_buffer_event", func(t *testing.T) {
		l, err := openTestBTF(t, "6.1.192").Layout("struct ring_buffer_event")
		if err != nil {
			t.Fatal(err)
		}
		want := []Field{
			{Name: "type_len", Type: "u32", Offset: 0, Size: 5, Bits: true},
			{Name: "time_delta", Type: "u32", Offset: 5, Size: 27, Bits: true},
			{Name: "array", Type: "u32[]", Offset: 32, Size: 0},
		}
		if d := cmp.Diff(want, l.Fields); d != "" || l.Size != 4 || len(l.Padding) > 0 {
			t.Errorf("%s size %d padding %v", d, l.Size, l.Padding)
		}
	})
	t.Run("6.12.117 trace_buffer", func(t *testing.T) {
		l, err := openTestBTF(t, "6.12.117").Layout("trace_buffer")
		if err != nil {
			t.Fatal(err)
		}
		if l.Size != 256 || len(l.Fields) != 18 {
			t.Errorf("size %d, %d fields", l.Size, len(l.Fields))
		}
		if d := cmp.Diff([]Hole{{Offset: 96, Size: 32, After: "resizing"}, {Offset: 1480, Size: 56, After: "time_stamp_abs"}}, l.Padding); d != "" {
			t.Error(d)
		}
		for _, f := range l.Fields {
			if f.Name == "clock" && f.Type != "u64 (*)(void)" {
				t.Errorf("clock is %q", f.Type)
			}
		}
	})
	t.Run("6.12.117 bpf_ringbuf", func(t *testing.T) {
		l, err := openTestBTF(t, "6.12.117").Layout("bpf_ringbuf")
		if err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for _, h := range l.Padding {
			sum += h.Size / 8
		}
		if l.Size != 12288 || len(l.Padding) != 5 || sum != 12180 {
			t.Errorf("size %d, %d holes of %d bytes", l.Size, len(l.Padding), sum)
		}
	})
	for version, sizes := range map[string]map[string]uint64{
		"6.1.192":  {"ring_buffer_iter": 88, "buffer_data_page": 16},
		"6.12.117": {"ring_buffer_per_cpu": 560, "trace_iterator": 16592, "kretprobe": 168, "trace_kprobe": 256},
	} {
		for name, size := range sizes {
			l, err := openTestBTF(t, version).Layout(name)
			if err != nil || l.Size != size {
				t.Errorf("%s %s: %v, %v, want %d bytes", version, name, l, err, size)
			}
		}
	}
}

func TestSignature(t *testing.T) {
	for version, want := range map[string]string{
		"6.1.192":  "int ring_buffer_read_page(struct trace_buffer *buffer, void **data_page, size_t len, int cpu, int full)",
		"6.12.117": "int ring_buffer_read_page(struct trace_buffer *buffer, struct buffer_data_read_page *data_page, size_t len, int cpu, int full)",
	} {
		if got, err := openTestBTF(t, version).Signature("ring_buffer_read_page"); err != nil || got != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := openTestBTF(t, "6.1.192").Signature("rb_commit"); !errors.Is(err, errNoType) {
		t.Errorf("rb_commit is inlined in this build: %v", err)
	}
}

func nobody(string) bool { return false }

// TestStructsText holds the table of two kernels against a few rows that pahole
// gives for each.
func TestStructsText(t *testing.T) {
	kernels := []*BTF{openTestBTF(t, "6.1.192"), openTestBTF(t, "6.12.117")}
	text, problems := structsText([]string{"trace_buffer", "trace_buffer_meta"}, kernels, nobody)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, row := range []string{
		"| Field | 6.1.192 | size | 6.12.117 | size | Type |",
		"| `cpus` | 4 | 4 | – | – | `int` |",
		"| `cpumask` | 16 | 8 | 16 | 8 | `cpumask_var_t` |",
		"| `range_addr_start` | – | – | 192 | 8 | `unsigned long` |",
		"| *padding at the end* | 185 | 7 | – | – |  |",
		"| **whole size** |  | **192** |  | **256** |  |",
		"not in this build", // trace_buffer_meta in 6.1
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no %q in\n%s", row, text)
		}
	}
	text, problems = structsText([]string{"trace_buffer_meta"}, kernels[:1], func(string) bool { return true })
	if len(problems) > 0 || !strings.Contains(text, "Not in the build of 6.1.192.") {
		t.Errorf("%v\n%s", problems, text)
	}
	_, problems = structsText([]string{"no_such_thing", "nobody_asked"}, kernels, nobody)
	if !strings.Contains(problems["nobody_asked"], "was cut without nobody_asked") {
		t.Errorf("a blob that was never asked for a name must not deny it: %v", problems)
	}
}

func TestFuncsText(t *testing.T) {
	kernels := []*BTF{openTestBTF(t, "6.1.192"), openTestBTF(t, "6.12.117")}
	macros := map[string][]macro{"rb_commit": {{"6.12.117", "kernel/x.h", 7}}}
	text, problems := funcsText([]string{"tracing_stats_read", "ring_buffer_read_page", "buffer_subbuf_size_write", "rb_commit"}, kernels, macros, []string{"6.1.192", "6.12.117"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, want := range []string{
		"- `ssize_t tracing_stats_read(struct file *filp, char *ubuf, size_t count, loff_t *ppos)`\n",
		"int full)` in 6.1.192\n",
		"- `buffer_subbuf_size_write`: no symbol in the build of 6.1.192\n",
		"- `rb_commit`: no symbol in the build of 6.1.192, 6.12.117; a macro of this name: `kernel/x.h:7` in 6.12.117\n",
		"<!-- ringaudit:source kind=tree kernel=6.12.117 evidence=true -->\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "kind=tree kernel=6.1.192") {
		t.Error("a tree that gave nothing is named as a source")
	}
}

// TestCut cuts a cut blob again: what is kept stays the same.
func TestCut(t *testing.T) {
	b := openTestBTF(t, "6.12.117")
	out := filepath.Join(t.TempDir(), "small.btf")
	absent, err := CutBTF(b, out, CutOptions{Structures: []string{"buffer_page", "ring_buffer_per_cpu"}, Functions: []string{"tracing_stats_read", "rb_commit"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"rb_commit"}, absent); d != "" {
		t.Error(d)
	}
	c, err := OpenBTF(out)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kernel != b.Kernel || c.Version != b.Version || c.Arch != b.Arch || !c.Evidence {
		t.Errorf("described as %q %q %q", c.Kernel, c.Version, c.Arch)
	}
	for _, name := range []string{"buffer_page", "ring_buffer_per_cpu"} {
		was, err1 := b.Layout(name)
		now, err2 := c.Layout(name)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if d := cmp.Diff(was, now); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	was, _ := b.Signature("tracing_stats_read")
	if now, err := c.Signature("tracing_stats_read"); err != nil || now != was {
		t.Errorf("%q, %v", now, err)
	}
	if _, err := CutBTF(b, out, CutOptions{Structures: []string{"nobody_asked"}}); err == nil {
		t.Error("cut a name out of a blob that says nothing of it")
	}
}

func TestOpenBTFErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return f
	}
	raw, err := os.ReadFile(filepath.Join("btf", "6.1.192.btf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, message string }{
		{filepath.Join(dir, "none.btf"), "none.btf"},
		{write("empty.btf", ""), "too short"},
		{write("text.btf", "entries: 1\n"), "expected an ELF file or BTF"},
		{write("elf", "\x7fELF\x02\x01\x01 and no more"), "elf"},
		{write("half.btf", string(raw[:len(raw)/2])), "half.btf"},
	} {
		if _, err := OpenBTF(tt.file); err == nil || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v", tt.file, err)
		}
	}
	write("odd.btf", string(raw))
	write("odd.btf.toml", "kernle = \"x\"\n")
	if _, err := OpenBTF(filepath.Join(dir, "odd.btf")); err == nil || !strings.Contains(err.Error(), `unknown key "kernle"`) {
		t.Errorf("a misspelt description: %v", err)
	}
}

func FuzzOpenBTF(f *testing.F) {
	for _, v := range []string{"6.1.192", "6.12.117"} {
		if raw, err := os.ReadFile(filepath.Join("btf", v+".btf")); err == nil {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file := filepath.Join(t.TempDir(), "f.btf")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBTF(file)
		if (b == nil) == (err == nil) {
			t.Fatalf("%v, %v", b, err)
		}
		if err != nil {
			return
		}
		structsText([]string{"trace_buffer", "buffer_page", "rb_time_t", "ring_buffer_event"}, []*BTF{b}, nobody)
		funcsText([]string{"tracing_stats_read", "ring_buffer_read_page"}, []*BTF{b}, nil, nil)
	})
}
