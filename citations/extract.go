package citations

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/klauspost/compress/zstd"
)

// ExtractSchema names the form of an extract's manifest.
const ExtractSchema = "ringaudit.extract/v1"

// manifestName is the first file of an extract.
const manifestName = "ringaudit-extract.toml"

// manifest says what an extract holds and what it was made of.
type manifest struct {
	version string
	origin  Origin
	files   map[string]string // path → SHA-256
	absent  map[string]bool   // asked for, and not in the origin
	folders []string          // folders of which every C source and header is here
	dirs    []string          // of a cache: all folders of the origin
	whole   bool              // of a cache: the origin is a whole tree
}

type manifestTOML struct {
	Schema  string            `toml:"schema"`
	Version string            `toml:"version"`
	Origin  string            `toml:"origin"`
	SHA256  string            `toml:"origin_sha256"`
	Commit  string            `toml:"origin_commit"`
	Folders []string          `toml:"folders"`
	Absent  []string          `toml:"absent"`
	Whole   bool              `toml:"whole"`
	Dirs    []string          `toml:"dirs"`
	Files   map[string]string `toml:"files"`
}

func readManifest(r io.Reader, size int64) (*manifest, error) {
	if size > 16<<20 {
		return nil, fmt.Errorf("%s claims %d bytes, more than the limit of 16 MiB", manifestName, size)
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil {
		return nil, err
	}
	var m manifestTOML
	if _, err := toml.Decode(string(data), &m); err != nil {
		return nil, tomlError(manifestName, err)
	}
	if m.Schema != ExtractSchema {
		return nil, fmt.Errorf("%s: found schema %q, expected %q", manifestName, m.Schema, ExtractSchema)
	}
	out := &manifest{version: m.Version, origin: Origin{Name: m.Origin, SHA256: m.SHA256, Commit: m.Commit},
		files: m.Files, absent: make(map[string]bool), folders: m.Folders, dirs: m.Dirs, whole: m.Whole}
	for _, a := range m.Absent {
		out.absent[a] = true
	}
	return out, nil
}

// verify refuses a file that is not the one the manifest describes.
func (m *manifest) verify(name string, data []byte) error {
	sum := sha256.Sum256(data)
	if got, want := hex.EncodeToString(sum[:]), m.files[name]; got != want {
		if want == "" {
			return fmt.Errorf("%s is not in the manifest of the extract", name)
		}
		return fmt.Errorf("%s has SHA-256 %s, the manifest of the extract says %s", name, got[:12], want[:min(12, len(want))])
	}
	return nil
}

// encode is the manifest as TOML, the same bytes for the same content.
func (m *manifest) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "schema = %s\nversion = %s\norigin = %s\n", quote(ExtractSchema), quote(m.version), quote(m.origin.Name))
	if m.origin.SHA256 != "" {
		fmt.Fprintf(&b, "origin_sha256 = %s\n", quote(m.origin.SHA256))
	}
	if m.origin.Commit != "" {
		fmt.Fprintf(&b, "origin_commit = %s\n", quote(m.origin.Commit))
	}
	if m.whole {
		b.WriteString("whole = true\n")
	}
	writeList(&b, "folders", m.folders)
	writeList(&b, "absent", sortedKeys(m.absent))
	writeList(&b, "dirs", m.dirs)
	b.WriteString("\n[files]\n")
	for _, name := range sortedKeys(m.files) {
		fmt.Fprintf(&b, "%s = %s\n", quote(name), quote(m.files[name]))
	}
	return b.Bytes()
}

func writeList(b *bytes.Buffer, key string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "%s = [\n", key)
	for _, e := range list {
		fmt.Fprintf(b, "  %s,\n", quote(e))
	}
	b.WriteString("]\n")
}

// quote is s as a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Extract writes what the sets cite of a tree as an extract: a .tar.zst of the
// cited files with a manifest of hashes and the origin. The same tree and sets
// give the same bytes. The tree must not be in use by another call.
func Extract(ctx context.Context, w io.Writer, t *Tree, sets []*Set) (files int, err error) {
	if err := loadTree(ctx, t, sets, newStore()); err != nil {
		return 0, err
	}
	n := needOf(sets, t.Version)
	m := &manifest{version: t.Version.String(), origin: Origin{Name: path.Base(t.Spec), SHA256: t.SHA256, Commit: t.Commit},
		files: make(map[string]string), absent: make(map[string]bool), folders: n.folders}
	if t.Kind == "extract" {
		m.origin = t.Origin
	}
	for name := range n.files {
		if t.files[name] != nil {
			continue
		}
		if state, why := t.lacks(name); state != Gone {
			return 0, unavailable(t.Spec, "make the extract of a whole tree", "%s", why)
		}
		m.absent[name] = true
	}
	data := make(map[string][]byte, len(t.files))
	for name, f := range t.files {
		data[name] = f.data
	}
	return len(data), writeExtract(w, m, data)
}

// writeExtract writes the archive: the manifest first, then the files by name,
// without dates or owners.
func writeExtract(w io.Writer, m *manifest, files map[string][]byte) error {
	for name, data := range files {
		sum := sha256.Sum256(data)
		m.files[name] = hex.EncodeToString(sum[:])
	}
	sort.Strings(m.folders)
	zw, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	defer zw.Close()
	tw := tar.NewWriter(zw)
	top := "linux-" + m.version + "/"
	put := func(name string, data []byte) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: top + name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err := tw.Write(data)
		return err
	}
	if err := put(manifestName, m.encode()); err != nil {
		return err
	}
	for _, name := range sortedKeys(files) {
		if err := put(name, files[name]); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}
