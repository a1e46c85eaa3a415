package citations

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

type entry struct {
	name, body, link string
	typ              byte
	size             int64 // if not 0: claimed in the header, the body is missing
}

func tarOf(t testing.TB, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.body)), Mode: 0o644, Linkname: e.link}
		if e.typ != 0 {
			h.Typeflag = e.typ
		}
		if e.size != 0 {
			h.Size = e.size
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.size == 0 {
			io.WriteString(w, e.body)
		}
	}
	if err := w.Flush(); err != nil && entries[len(entries)-1].size == 0 {
		t.Fatal(err)
	}
	return b.Bytes()
}

func smallEntries(t testing.TB, top string) (out []entry) {
	files := small(t)
	for _, name := range sortedKeys(files) {
		out = append(out, entry{name: top + name, body: string(files[name])})
	}
	return out
}

func compress(t testing.TB, kind string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case "gz":
		w = gzip.NewWriter(&b)
	case "xz":
		w, err = xz.NewWriter(&b)
	case "zst":
		w, err = zstd.NewWriter(&b)
	default:
		return data
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func save(t testing.TB, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func smallSet(t testing.TB) *Set {
	return oneSet(t, ref(1, "path = \"kernel/ring.c\"\nsymbol = \"ring_throw_away\"\nanchor = \"ring->thrown_away++;\"")+
		ref(2, "path = \"Documentation/ring.rst\"\nanchor = \"throws the oldest away\"")+
		assertion("kind = \"only-setter\"\nscope = \"kernel/\"\nsubject = \"->written\"\nexpect = [\"ring_throw_away\", \"ring_write\", \"ring_reset\"]"))
}

// lockText is what the gate finds in a tree, as a lock.
func lockText(t testing.TB, s *Set, trees ...*Tree) string {
	t.Helper()
	r := runCheck(t, s, nil, trees...)
	for _, p := range r.Problems {
		t.Errorf("%s: %s %s: %s", p.At, p.State, p.ID, p.Message)
	}
	return string(r.Sets[0].Update(UpdateOptions{}).Encode())
}

// A tree is the same in every form.
func TestTreeForms(t *testing.T) {
	s := smallSet(t)
	ctx := context.Background()
	want := lockText(t, s, MemoryTree("memory", Version{}, small(t)))
	if !strings.Contains(want, `"kernel/ring.c"`) || !strings.Contains(want, "checked = 3") {
		t.Fatalf("lock:\n%s", want)
	}
	check := func(name, spec string, opts TreeOptions) {
		t.Run(name, func(t *testing.T) {
			if got := lockText(t, s, OpenTree(ctx, spec, opts)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	check("directory", filepath.Join("testdata", "small"), TreeOptions{})
	for _, top := range []string{"", "./", "linux-6.12.7/", "./linux-6.12.7/", "anything/"} {
		for _, kind := range []string{"", "gz", "xz", "zst"} {
			file := save(t, "tree.bin", compress(t, kind, tarOf(t, smallEntries(t, top))))
			check("tar."+kind+" in "+top, file, TreeOptions{})
			if kind == "xz" {
				check("tar.xz without the xz program", file, TreeOptions{NoHelper: true})
			}
		}
	}
	check("global header", save(t, "t.tar", append(globalHeader(t), tarOf(t, smallEntries(t, "linux/"))...)), TreeOptions{})
	extract := &bytes.Buffer{}
	if _, err := Extract(ctx, extract, OpenTree(ctx, filepath.Join("testdata", "small"), TreeOptions{}), []*Set{s}); err != nil {
		t.Fatal(err)
	}
	check("extract", save(t, "e.tar.zst", extract.Bytes()), TreeOptions{})
	again := &bytes.Buffer{}
	if _, err := Extract(ctx, again, OpenTree(ctx, save(t, "e.tar.zst", extract.Bytes()), TreeOptions{}), []*Set{s}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), extract.Bytes()) {
		t.Error("an extract of the extract is not the same bytes")
	}
	repo := gitRepo(t, small(t))
	check("git", repo+"@v6.12", TreeOptions{})
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, ".", "clone", "-q", "--bare", "--filter=blob:none", "file://"+filepath.ToSlash(repo), bare)
	check("bare git", bare+"@v6.12", TreeOptions{})
}

func globalHeader(t testing.TB) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": strings.Repeat("a", 40)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false", "-c", "init.defaultBranch=main", "-c", "uploadpack.allowFilter=true"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func gitRepo(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for name, data := range files {
		f := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "tree")
	git(t, dir, "tag", "v6.12")
	return dir
}

// zeros is a compressed run of zero bytes, made without holding them.
func zeros(t testing.TB, head []byte, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(head)
	block := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(block)) {
		w.Write(block)
	}
	w.Close()
	return b.Bytes()
}

// Archives that are made to harm: refused with the reason, nothing written,
// memory bounded.
func TestHostileArchives(t *testing.T) {
	s := smallSet(t)
	good := smallEntries(t, "linux/")
	with := func(e ...entry) []byte { return tarOf(t, append(append([]entry{}, good...), e...)) }
	big := tarOf(t, []entry{{name: "linux/Makefile", size: 100 << 30}})
	for _, tt := range []struct {
		name, want string
		data       []byte
		opts       TreeOptions
	}{
		{"dots", "leads out of the archive", with(entry{name: "linux/../../evil.c", body: "x"}), TreeOptions{}},
		{"dots at the top", "leads out of the archive", with(entry{name: "../evil.c", body: "x"}), TreeOptions{}},
		{"absolute", "is not a relative path", with(entry{name: "/evil.c", body: "x"}), TreeOptions{}},
		{"link out", `the link "linux/a" leads out of the archive, to "../../b"`, with(entry{name: "linux/a", link: "../../b", typ: tar.TypeSymlink}), TreeOptions{}},
		{"link to an absolute path", "leads out of the archive", with(entry{name: "linux/a", link: "/b", typ: tar.TypeSymlink}), TreeOptions{}},
		{"hard link out", "leads out of the archive", with(entry{name: "linux/a", link: "../b", typ: tar.TypeLink}), TreeOptions{}},
		{"two tops", "beside the top folder", with(entry{name: "other/a", body: "x"}), TreeOptions{}},
		{"a file of 100 GiB", "claims 107374182400 bytes", big, TreeOptions{}},
		{"a file of 100 GiB, compressed", "claims 107374182400 bytes", compress(t, "zst", big), TreeOptions{}},
		{"zeros behind a header", "unpacks to more than", zeros(t, tarOf(t, []entry{{name: "linux/filler", size: 60 << 20}}), 64<<20), TreeOptions{MaxBytes: 60 << 20}},
		{"zeros behind the end", "unpacks to more than", zeros(t, with(), 64<<20), TreeOptions{MaxBytes: 32 << 20}},
		{"a wanted file that is too large", "more than the limit of 16", with(), TreeOptions{MaxFile: 16}},
		{"not an archive", "not a tar archive", []byte(strings.Repeat("no archive ", 100)), TreeOptions{}},
		{"short", "too short to be an archive", []byte("abc"), TreeOptions{}},
		{"cut", "unexpected EOF", compress(t, "zst", with())[:300], TreeOptions{}},
		{"cut xz", "", compress(t, "xz", with())[:300], TreeOptions{}},
		{"cut xz without the program", "unexpected EOF", compress(t, "xz", with())[:300], TreeOptions{NoHelper: true}},
		{"cut gz", "unexpected EOF", compress(t, "gz", with())[:300], TreeOptions{}},
		{"checksum", "", damage(compress(t, "gz", with())), TreeOptions{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "tree.bin")
			if err := os.WriteFile(file, tt.data, 0o644); err != nil {
				t.Fatal(err)
			}
			tt.opts.Cache = filepath.Join(dir, "cache")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tree := OpenTree(context.Background(), file, tt.opts)
			r := runCheck(t, s, nil, tree)
			runtime.ReadMemStats(&after)
			var te *TreeError
			if !errors.As(tree.Err(), &te) || !te.Unreadable || !strings.Contains(te.Error(), tt.want) {
				t.Errorf("error %v, want %q", tree.Err(), tt.want)
			}
			if r.Outcome() != Unreadable {
				t.Errorf("outcome %d, want unreadable", r.Outcome())
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("files were written: %v", left)
			}
		})
	}
}

func damage(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-5] ^= 1 // in the CRC
	return b
}

func TestLinksInside(t *testing.T) {
	files := small(t)
	entries := smallEntries(t, "linux/")
	for i := range entries {
		if entries[i].name == "linux/Documentation/ring.rst" {
			entries[i] = entry{name: entries[i].name, link: "../tools/ring-text.rst", typ: tar.TypeSymlink}
		}
	}
	entries = append(entries, entry{name: "linux/tools/ring-text.rst", body: string(files["Documentation/ring.rst"])})
	lockText(t, smallSet(t), OpenTree(context.Background(), save(t, "t.tar", tarOf(t, entries)), TreeOptions{}))
}

func TestDirectoryLinkOut(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.c")
	os.WriteFile(out, []byte("ring->thrown_away++;\n"), 0o644)
	tree := filepath.Join(dir, "tree")
	for name, data := range small(t) {
		f := filepath.Join(tree, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(f), 0o755)
		os.WriteFile(f, data, 0o644)
	}
	os.Remove(filepath.Join(tree, "kernel", "ring.c"))
	if err := os.Symlink(out, filepath.Join(tree, "kernel", "ring.c")); err != nil {
		t.Skip(err)
	}
	x := OpenTree(context.Background(), tree, TreeOptions{})
	runCheck(t, smallSet(t), nil, x)
	if x.Err() == nil || !strings.Contains(x.Err().Error(), "leads out of the tree") {
		t.Errorf("error %v", x.Err())
	}
}

func TestTreesNotToBeHad(t *testing.T) {
	repo := gitRepo(t, small(t))
	for _, tt := range []struct{ spec, want string }{
		{"nowhere/linux", "there is no such file or folder"},
		{"nowhere@v6.12", "there is no repository nowhere"},
		{repo + "@v9.9", "no revision v9.9"},
		{repo + "@--help", "no revision --help"},
		{t.TempDir(), "no Makefile at its top"},
	} {
		x := OpenTree(context.Background(), tt.spec, TreeOptions{})
		r := runCheck(t, smallSet(t), nil, x)
		var te *TreeError
		if !errors.As(x.Err(), &te) || te.Unreadable || !strings.Contains(te.Error(), tt.want) || te.Hint == "" {
			t.Errorf("%s: error %v, want %q with a hint", tt.spec, x.Err(), tt.want)
		}
		if r.Outcome() != Undecided {
			t.Errorf("%s: outcome %d, want undecided", tt.spec, r.Outcome())
		}
	}
}

func TestExtractProves(t *testing.T) {
	ctx := context.Background()
	s := smallSet(t)
	var b bytes.Buffer
	if _, err := Extract(ctx, &b, OpenTree(ctx, filepath.Join("testdata", "small"), TreeOptions{}), []*Set{s}); err != nil {
		t.Fatal(err)
	}
	// Another document asks for a file that the extract does not hold.
	other := oneSet(t, ref(1, "path = \"include/ring.h\"\nanchor = \"#define RING_HEADER_BYTES\""))
	r := runCheck(t, other, nil, OpenTree(ctx, save(t, "e.tar.zst", b.Bytes()), TreeOptions{}))
	if f := r.Record("ring-R1").Findings[0]; f.State != Unresolved || !strings.Contains(f.Message, "not in this extract") {
		t.Errorf("%s: %s", f.State, f.Message)
	}
	// A file that is not the one of the manifest.
	dec, _ := zstd.NewReader(nil)
	plain, err := dec.DecodeAll(b.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(plain, []byte("ring->thrown_away++;"), []byte("ring->thrown_away--;"), 1)
	x := OpenTree(ctx, save(t, "f.tar", forged), TreeOptions{})
	runCheck(t, s, nil, x)
	if x.Err() == nil || !strings.Contains(x.Err().Error(), "the manifest of the extract says") {
		t.Errorf("error %v", x.Err())
	}
}

// The cache answers what it holds, and nothing else.
func TestCache(t *testing.T) {
	ctx := context.Background()
	files := small(t)
	entries := smallEntries(t, "linux/")
	noise := make([]byte, cacheAbove+1)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	entries = append(entries, entry{name: "linux/lib/noise.bin", body: string(noise)}, entry{name: "linux/lib/late.c", body: "int late_variable_here;\n"})
	file := save(t, "t.tar.zst", compress(t, "zst", tarOf(t, entries)))
	opts := TreeOptions{Cache: filepath.Join(t.TempDir(), "c")}
	s := smallSet(t)
	want := lockText(t, s, MemoryTree("m", Version{}, files))
	for range 2 {
		if got := lockText(t, s, OpenTree(ctx, file, opts)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	left, _ := filepath.Glob(filepath.Join(opts.Cache, "*"))
	if len(left) != 1 {
		t.Fatalf("cache: %v", left)
	}
	// A file that the cache does not hold yet, one that is not in the archive,
	// and an anchor that must be searched.
	more := oneSet(t, ref(1, "path = \"lib/late.c\"\nanchor = \"int late_variable_here;\"")+ref(2, "path = \"lib/none.c\"\nanchor = \"int late_variable_here;\""))
	for range 2 {
		r := runCheck(t, more, nil, OpenTree(ctx, file, opts))
		a, b := r.Record("ring-R1").Findings[0], r.Record("ring-R2").Findings[0]
		if a.State != OK || b.State != MovedFile || b.Related[0].File != "lib/late.c" || b.Related[0].Version != "6.12.7" {
			t.Errorf("%s %s, %s %s", a.State, a.Message, b.State, b.Message)
		}
	}
	if got := lockText(t, s, OpenTree(ctx, file, opts)); got != want {
		t.Error("the cache forgot what it held")
	}
	// A damaged cache is no cache.
	os.WriteFile(left[0], []byte("damaged"), 0o644)
	if got := lockText(t, s, OpenTree(ctx, file, opts)); got != want {
		t.Error("a damaged cache was believed")
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(tarOf(f, []entry{{name: "linux/Makefile", body: "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n"}, {name: "linux/a.c", body: "int x;\n"}}))
	f.Add(compress(f, "zst", tarOf(f, []entry{{name: "Makefile", body: "x"}})))
	f.Add(compress(f, "gz", tarOf(f, []entry{{name: "a/b", link: "../c", typ: tar.TypeSymlink}})))
	f.Add(compress(f, "xz", tarOf(f, []entry{{name: "a", size: 1 << 40}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "t")
		os.WriteFile(file, data, 0o644)
		x := OpenTree(context.Background(), file, TreeOptions{MaxBytes: 1 << 20, MaxFile: 1 << 16, NoHelper: true})
		r, err := Check(context.Background(), []*Set{smallSet(t)}, []*Tree{x}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if x.Err() == nil && !x.Version.Known() {
			t.Fatal("no error and no version")
		}
		if x.Err() != nil && (r.Counts.Checked != 0 || r.Outcome() == Passed) {
			t.Fatalf("%v, and %s", x.Err(), r.Counts)
		}
	})
}
