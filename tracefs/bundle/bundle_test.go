package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

// stats is what a kernel printed (FACTS 9, the capture small-overwrite, CPU 0).
const stats = "entries: 432\noverrun: 1329940\ncommit overrun: 5106\nbytes: 12160\n" +
	"oldest event ts:    17.163142\nnow ts:    17.248184\ndropped events: 0\nread events: 0\n"

var content = map[string]string{
	"before/per_cpu/cpu0/stats": stats,
	"before/tracing_on":         "1\n",
	"after/per_cpu/cpu0/stats":  strings.Replace(stats, "432", "433", 1),
	"raw/cpu0":                  strings.Repeat("\x00", 8192) + "end",
	"empty":                     "",
}

// write makes the same bundle at name.
func write(t *testing.T, name string) {
	t.Helper()
	w, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.Manifest.Tool, w.Manifest.Kernel, w.Manifest.Arch, w.Manifest.PageBytes = "test 1", "6.1.0", "x86_64", 4096
	w.Manifest.Phases = []Phase{{Name: "before", Path: "before"}, {Name: "after", Path: "after"}}
	w.NotOpened("trace_pipe", "reading it consumes events")
	for path, text := range content { // in no order
		f, err := w.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for len(text) > 0 {
			n := min(len(text), 1000)
			if _, err := io.WriteString(f, text[:n]); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, name string) *Reader {
	t.Helper()
	r, err := Open(name, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestRoundTrip(t *testing.T) {
	for _, form := range []string{"run", "run.tar", "run.tar.zst"} {
		t.Run(form, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), form)
			write(t, name)
			r := open(t, name)
			if r.Kind != KindBundle || len(r.Problems) != 0 || r.Entries != len(content) {
				t.Errorf("kind %v, %d entries, problems %v", r.Kind, r.Entries, r.Problems)
			}
			m := r.Manifest
			if m.Schema != "ringaudit.bundle/v1" || m.Kernel != "6.1.0" || m.PageBytes != 4096 || len(m.Phases) != 2 || m.Phases[0].Path != "before" {
				t.Errorf("manifest: %+v", m)
			}
			if len(m.NotOpened) != 1 || m.NotOpened[0].Path != "trace_pipe" {
				t.Errorf("not opened: %+v", m.NotOpened)
			}
			want := []string{ManifestName}
			for path, text := range content {
				want = append(want, path)
				got, err := fs.ReadFile(r.FS(), path)
				if err != nil || string(got) != text {
					t.Errorf("%s: %d bytes, %v; want %d bytes", path, len(got), err, len(text))
				}
				i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == path })
				sum := sha256.Sum256([]byte(text))
				if i < 0 || m.Files[i].Bytes != int64(len(text)) || m.Files[i].SHA256 != hex.EncodeToString(sum[:]) {
					t.Errorf("%s in the manifest: %+v", path, m.Files)
				}
			}
			if err := fstest.TestFS(r.FS(), want...); err != nil {
				t.Error(err)
			}
			f, err := r.FS().Open("raw/cpu0")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := make([]byte, 3)
			if at, ok := f.(io.ReaderAt); !ok {
				t.Error("no ReaderAt")
			} else if _, err := at.ReadAt(b, 8192); (err != nil && err != io.EOF) || string(b) != "end" {
				t.Errorf("ReadAt: %q, %v", b, err)
			}
			if _, ok := f.(io.Seeker); !ok {
				t.Error("no Seeker")
			}
		})
	}
}

// The same content gives the same bytes, whatever the order and the time.
func TestDeterministic(t *testing.T) {
	for _, form := range []string{"run.tar", "run.tar.zst"} {
		a, b := filepath.Join(t.TempDir(), form), filepath.Join(t.TempDir(), form)
		write(t, a)
		write(t, b)
		x, err := os.ReadFile(a)
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(b)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s: two runs, two results", form)
		}
		for _, leak := range []string{filepath.Dir(a), "root"} {
			if bytes.Contains(x, []byte(leak)) {
				t.Errorf("%s holds %q", form, leak)
			}
		}
	}
}

func TestWholeOrNotAtAll(t *testing.T) {
	for _, form := range []string{"run", "run.tar", "run.tar.zst"} {
		t.Run(form, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, form)
			empty := func(when string) {
				t.Helper()
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s: left %v, %v", when, left, err)
				}
			}
			w, err := Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteFile("a/b", []byte("x")); err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", `a\b`, "a/b", "manifest.json", strings.Repeat("d/", 64) + "x", "nul\x00"} {
				if _, err := w.Create(bad); err == nil {
					t.Errorf("file %q was created", bad)
				}
			}
			if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("before Commit: %v", err)
			}
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
			empty("after Abort")
			if err := w.Commit(); err == nil {
				t.Error("committed after Abort")
			}
			if _, err := w.Create("late"); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Create after Abort: %v", err)
			}

			if w, err = Create(name); err != nil {
				t.Fatal(err)
			}
			f, err := w.Create("unfinished")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Commit(); err == nil || !strings.Contains(err.Error(), "unfinished") {
				t.Errorf("Commit with an open file: %v", err)
			}
			f.Close()
			if runtime.GOOS != "windows" { // where an open file cannot be removed
				empty("after a failed Commit")
				write(t, name)
				if _, err := Create(name); !errors.Is(err, fs.ErrExist) {
					t.Errorf("a second bundle of that name: %v", err)
				}
			}
		})
	}
}

// problems are the kinds and paths of what is wrong.
func problems(r *Reader) string {
	var s []string
	for _, p := range r.Problems {
		s = append(s, string(p.Kind)+" "+p.Path)
	}
	return strings.Join(s, ", ")
}

func TestTampering(t *testing.T) {
	at := func(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	edit := func(t *testing.T, name string, do func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, do(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		tamper func(t *testing.T, dir string)
		want   string
		why    string
		gone   string // can no longer be read
	}{
		{"nothing", func(*testing.T, string) {}, "", "", ""},
		{"a digit", func(t *testing.T, dir string) {
			edit(t, at(dir, "before/per_cpu/cpu0/stats"), func(b []byte) []byte { return bytes.Replace(b, []byte("432"), []byte("431"), 1) })
		}, "changed before/per_cpu/cpu0/stats", "sha256", "before/per_cpu/cpu0/stats"},
		{"longer", func(t *testing.T, dir string) {
			edit(t, at(dir, "before/tracing_on"), func(b []byte) []byte { return append(b, '\n') })
		}, "changed before/tracing_on", "has more, the manifest says 2 bytes", "before/tracing_on"},
		{"shorter", func(t *testing.T, dir string) {
			edit(t, at(dir, "before/tracing_on"), func(b []byte) []byte { return b[:1] })
		}, "changed before/tracing_on", "has 1 bytes, the manifest says 2 bytes", "before/tracing_on"},
		{"removed", func(t *testing.T, dir string) {
			if err := os.Remove(at(dir, "empty")); err != nil {
				t.Fatal(err)
			}
		}, "missing empty", "not there", "empty"},
		{"added", func(t *testing.T, dir string) {
			if err := os.WriteFile(at(dir, "before/per_cpu/cpu1"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "extra before/per_cpu/cpu1", "does not list", "before/per_cpu/cpu1"},
		{"link", func(t *testing.T, dir string) {
			os.Remove(at(dir, "empty"))
			if err := os.Symlink("/etc/passwd", at(dir, "empty")); err != nil {
				t.Skip(err)
			}
		}, "refused empty", "symbolic link", "empty"},
		{"linked folder", func(t *testing.T, dir string) {
			if err := os.Symlink("before", at(dir, "again")); err != nil {
				t.Skip(err)
			}
		}, "refused again", "symbolic link", "again/tracing_on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			write(t, dir)
			c.tamper(t, dir)
			r := open(t, dir)
			if got := problems(r); got != c.want {
				t.Errorf("problems: %q, want %q", got, c.want)
			} else if c.why != "" && !strings.Contains(r.Problems[0].Why, c.why) {
				t.Errorf("why: %q, want %q in it", r.Problems[0].Why, c.why)
			}
			if c.gone != "" {
				if b, err := fs.ReadFile(r.FS(), c.gone); err == nil {
					t.Errorf("%s was handed out: %q", c.gone, b)
				}
			}
			if got, err := fs.ReadFile(r.FS(), "after/per_cpu/cpu0/stats"); err != nil || !strings.Contains(string(got), "433") {
				t.Errorf("what is whole is not handed out: %v", err)
			}
			if err := fstest.TestFS(r.FS(), "raw/cpu0"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBadManifest(t *testing.T) {
	good := filepath.Join(t.TempDir(), "run")
	write(t, good)
	text, err := os.ReadFile(filepath.Join(good, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"{", "", "not the JSON"},
		{"bundle/v1", "bundle/v9", `"ringaudit.bundle/v9"`},
		{`"raw/cpu0"`, `"../cpu0"`, "cannot be in a bundle"},
		{`"raw/cpu0"`, `"/raw/cpu0"`, "cannot be in a bundle"},
		{`"raw/cpu0"`, `"empty"`, "listed twice"},
		{`"bytes":8195`, `"bytes":-1`, "-1 bytes"},
		{`"sha256":"`, `"sha256":"0`, "64 hexadecimal"},
		{`"path": "before"`, `"path": "../before"`, "not a folder of the bundle"},
	} {
		if !strings.Contains(string(text), c.from) {
			t.Fatalf("the manifest lacks %s", c.from)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s: %v, want %q in it", c.from, c.to, err, c.want)
		}
	}
	if _, err := Open(t.TempDir(), Limits{}); !errors.Is(err, ErrNotBundle) {
		t.Errorf("a folder without manifest: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no"), Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// pack makes a tar as somebody's tar would.
func pack(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		body := h.Uname // carries the content
		h.Uname = ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		} else {
			body = ""
		}
		h.Mode = 0o600
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compressed(t testing.TB, data []byte) (zst, gz []byte) {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll(data, nil), b.Bytes()
}

func file(name, text string) *tar.Header { return &tar.Header{Name: name, Uname: text} }

func TestArchiveOfPeople(t *testing.T) {
	plain := pack(t,
		&tar.Header{Name: "./", Typeflag: tar.TypeDir},
		&tar.Header{Name: "./tracing/", Typeflag: tar.TypeDir},
		file("./tracing/per_cpu/cpu0/stats", stats),
		file("./tracing/tracing_on", "1\n"),
		&tar.Header{Name: "./tracing/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		&tar.Header{Name: "./tracing/hard", Typeflag: tar.TypeLink, Linkname: "./tracing/tracing_on"},
		&tar.Header{Name: "./tracing/fifo", Typeflag: tar.TypeFifo},
		&tar.Header{Name: "./tracing/null", Typeflag: tar.TypeChar},
		file("../../evil", "x"), file("/etc/evil", "x"), file("./tracing/../evil", "x"), file(`.\evil`, "x"),
		file("./tracing/tracing_on", "0\n"),
		file("./tracing/tracing_on/below", "x"),
	)
	zst, gz := compressed(t, plain)
	for name, data := range map[string][]byte{"tar": plain, "zstd": zst, "gzip": gz} {
		t.Run(name, func(t *testing.T) {
			if !IsArchive(data[:min(len(data), 512)]) {
				t.Error("not recognised")
			}
			for _, memory := range []int64{0, 100} { // in memory, and in a temporary file
				r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{Memory: memory})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if r.Kind != KindArchive || r.Manifest != nil || r.Entries != 2 {
					t.Errorf("kind %v, %d entries", r.Kind, r.Entries)
				}
				const want = "refused ../../evil, refused ./tracing/../evil, refused ./tracing/fifo, refused ./tracing/hard, " +
					"refused ./tracing/link, refused ./tracing/null, refused ./tracing/tracing_on, refused ./tracing/tracing_on/below, " +
					`refused .\evil, refused /etc/evil`
				if got := problems(r); got != want {
					t.Errorf("problems:\n %s\nwant\n %s", got, want)
				}
				if err := fstest.TestFS(r.FS(), "per_cpu/cpu0/stats", "tracing_on"); err != nil {
					t.Error(err)
				}
				if got, err := fs.ReadFile(r.FS(), "per_cpu/cpu0/stats"); err != nil || string(got) != stats {
					t.Errorf("stats: %q, %v", got, err)
				}
				if got, err := fs.ReadFile(r.FS(), "tracing_on"); err != nil || string(got) != "1\n" {
					t.Errorf("tracing_on: %q, %v", got, err)
				}
			}
		})
	}
}

// A bundle that was unpacked and packed again by its folder's name.
func TestRepacked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	var headers []*tar.Header
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(os.DirFS(dir), p)
		headers = append(headers, file("run/"+p, string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data := pack(t, headers...)
	r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Kind != KindBundle || len(r.Problems) > 0 || r.Entries != len(content) {
		t.Errorf("kind %v, %d entries, problems %v", r.Kind, r.Entries, r.Problems)
	}

	// And cut off: what came before the cut can be read.
	cut := data[:bytes.LastIndex(data, []byte("end"))]
	r, err = OpenReaderAt(bytes.NewReader(cut), int64(len(cut)), "x", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := problems(r); got != "missing raw/cpu0, cut run/raw/cpu0" {
		t.Errorf("problems: %s", got)
	}
	if got, err := fs.ReadFile(r.FS(), "before/per_cpu/cpu0/stats"); err != nil || string(got) != stats {
		t.Errorf("stats before the cut: %q, %v", got, err)
	}
}

// Cut off between two files, where nothing but the missing end shows it.
func TestCutBetweenFiles(t *testing.T) {
	data := pack(t, file("a", "x"), file("b", "y"))
	data = data[:1024]
	zst, _ := compressed(t, data)
	for _, data := range [][]byte{data, zst} {
		r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got := problems(r); got != "cut a" || r.Entries != 1 {
			t.Errorf("problems: %s, %d entries", got, r.Entries)
		}
	}
}

func TestHollow(t *testing.T) {
	data := pack(t, file("tracing/per_cpu/cpu0/stats", ""), file("tracing/tracing_on", ""))
	r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := problems(r); got != "hollow ." {
		t.Errorf("problems: %s", got)
	}
}

func TestLimits(t *testing.T) {
	zeros := pack(t, file("a", strings.Repeat("\x00", 1<<20)), file("b", "x"))
	bomb, _ := compressed(t, zeros)
	deep := pack(t, file(strings.Repeat("d/", 100)+"x", "y"), file("ok", "z"))
	for _, c := range []struct {
		name   string
		data   []byte
		limits Limits
		err    error
	}{
		{"bytes", zeros, Limits{Bytes: 1 << 19}, ErrTooBig},
		{"bytes of a bomb", bomb, Limits{Bytes: 1 << 19}, ErrTooBig},
		{"files", zeros, Limits{Files: 1}, ErrTooBig},
		{"enough", bomb, Limits{Bytes: 1<<20 + 1, Files: 10}, nil},
		{"deep", deep, Limits{}, nil},
	} {
		r, err := OpenReaderAt(bytes.NewReader(c.data), int64(len(c.data)), "x", c.limits)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if r != nil {
			if c.name == "deep" && (len(r.Problems) != 1 || r.Entries != 1) {
				t.Errorf("deep: %v", r.Problems)
			}
			r.Close()
		}
	}
}

func TestNotArchives(t *testing.T) {
	notTar, _ := compressed(t, []byte("hello"))
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte(stats), "long text": bytes.Repeat([]byte(stats), 10), "compressed text": notTar,
		"zeros": make([]byte, 1024), "broken zstd": []byte("\x28\xb5\x2f\xfd\xff\xff\xff\xff"), "broken gzip": []byte("\x1f\x8b\x08"),
	} {
		r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{})
		if err == nil {
			t.Errorf("%s was opened: %v, %v", name, r.Kind, r.Problems)
			r.Close()
		}
	}
}

func FuzzOpen(f *testing.F) {
	var t testing.TB = f
	plain := pack(t, file("manifest.json", `{"schema":"ringaudit.bundle/v1","phases":[],"not_opened":[],"files":[`+
		`{"path":"a","bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}]}`), file("a", "x"), file("b", ""))
	zst, gz := compressed(t, plain)
	f.Add(plain)
	f.Add(zst)
	f.Add(gz)
	f.Add(pack(t, file("../x", "y"), &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "x"}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := OpenReaderAt(bytes.NewReader(data), int64(len(data)), "x", Limits{Files: 100, Bytes: 1 << 20, Memory: 1 << 16})
		if (err == nil) != (r != nil) {
			t.Fatalf("reader %v and error %v", r, err)
		}
		if err != nil {
			return
		}
		defer r.Close()
		files := 0
		err = fs.WalkDir(r.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return nil
			}
			if r.Kind == KindArchive || name != ManifestName {
				files++
			}
			b, err := fs.ReadFile(r.FS(), name)
			if err != nil {
				return err
			}
			if r.Kind == KindBundle && name != ManifestName {
				sum := sha256.Sum256(b)
				if !slices.ContainsFunc(r.Manifest.Files, func(f File) bool {
					return f.Path == name && f.SHA256 == hex.EncodeToString(sum[:])
				}) {
					t.Errorf("%s was handed out unverified", name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("what is listed cannot be read: %v", err)
		}
		if files != r.Entries {
			t.Errorf("%d files in the FS, %d entries", files, r.Entries)
		}
	})
}
