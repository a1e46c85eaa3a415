package bundle

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Schema names the form of [Manifest]. Within v1 changes only add.
const Schema = "ringaudit.bundle/v1"

// ManifestName is the path of the manifest inside a bundle, and what a bundle
// is known by.
const ManifestName = "manifest.json"

// maxManifest bounds the manifest that a Reader takes, in bytes: some 200,000
// files.
const maxManifest = 64 << 20

// Manifest says what a bundle holds, and what it could have held and does not.
// It is JSON with one file a line, so that two manifests can be compared by eye.
type Manifest struct {
	Schema string `json:"schema"`
	Tool   string `json:"tool,omitempty"`   // what wrote it: "ringaudit 0.1.0"
	Kernel string `json:"kernel,omitempty"` // uname -r
	Arch   string `json:"arch,omitempty"`   // uname -m
	// Taken is when the evidence was taken, RFC 3339, where the writer chose to say.
	Taken string `json:"taken,omitempty"`
	// PageBytes is the machine's page size, 0 if it is not known.
	PageBytes uint64 `json:"page_bytes,omitempty"`
	// Phases are the moments at which the same buffers were read, in the order of time.
	Phases []Phase `json:"phases"`
	// Settings is what the writer was asked to do: events, sizes, command.
	Settings map[string]string `json:"settings,omitempty"`
	// NotOpened is what was left alone on purpose, or could not be read.
	NotOpened []NotOpened `json:"not_opened"`
	Notes     []string    `json:"notes,omitempty"`
	// Files is every file of the bundle but the manifest, sorted by path.
	Files []File `json:"files"`
}

// Phase is a moment of the evidence, and the folder that holds a mirror of the
// tracefs (per_cpu/ and the rest, as the kernel lays it out) at that moment.
type Phase struct {
	Name string `json:"name"` // before, after, snapshot, …
	Path string `json:"path"` // its folder in the bundle; "." is the bundle itself
	// Repeats names an earlier phase that this one reads a second time, at
	// once: where the two differ, the buffer was being written, and the numbers
	// of one read are no snapshot (a torn read). Such a phase holds the
	// counters only. Empty for a phase in its own right.
	Repeats string `json:"repeats,omitempty"`
}

// NotOpened is a file that was there, or should have been, and was not read.
type NotOpened struct {
	Path string `json:"path"` // in the tracefs that the evidence was taken from
	Why  string `json:"why"`
}

// File is one file of a bundle.
type File struct {
	Path   string `json:"path"` // slash-separated, relative
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // 64 hexadecimal digits, lower case
}

// encode is the manifest as it is written: sorted, so that the same content has
// the same bytes.
func (m *Manifest) encode() ([]byte, error) {
	c := *m
	c.Schema = Schema
	c.Phases = append([]Phase{}, m.Phases...)
	c.NotOpened = slices.SortedFunc(slices.Values(m.NotOpened), func(a, b NotOpened) int {
		if d := strings.Compare(a.Path, b.Path); d != 0 {
			return d
		}
		return strings.Compare(a.Why, b.Why)
	})
	if c.NotOpened == nil {
		c.NotOpened = []NotOpened{}
	}
	files := slices.SortedFunc(slices.Values(m.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	c.Files = []File{}

	head, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutSuffix(string(head), "\"files\": []\n}")
	if !ok {
		return nil, fmt.Errorf("bundle: the manifest does not end in its files")
	}
	var b strings.Builder
	b.WriteString(text)
	b.WriteString("\"files\": [")
	for i, f := range files {
		if i > 0 {
			b.WriteByte(',')
		}
		line, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		b.WriteString("\n    ")
		b.Write(line)
	}
	b.WriteString("\n  ]\n}\n")
	return []byte(b.String()), nil
}

// decodeManifest reads a manifest. Fields that it does not know are left alone:
// v1 only grows.
func decodeManifest(data []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s is not the JSON of a manifest: %w", ManifestName, err)
	}
	if m.Schema != Schema {
		return nil, fmt.Errorf("%s has schema %q, expected %q", ManifestName, shorten(m.Schema), Schema)
	}
	seen := make(map[string]bool, len(m.Files))
	for i, f := range m.Files {
		switch sum, err := hex.DecodeString(f.SHA256); {
		case !validName(f.Path) || f.Path == ManifestName:
			return nil, fmt.Errorf("%s, files[%d]: path %q cannot be in a bundle", ManifestName, i, shorten(f.Path))
		case seen[f.Path]:
			return nil, fmt.Errorf("%s, files[%d]: %q is listed twice", ManifestName, i, shorten(f.Path))
		case f.Bytes < 0:
			return nil, fmt.Errorf("%s, files[%d]: %q has %d bytes", ManifestName, i, shorten(f.Path), f.Bytes)
		case err != nil || len(sum) != 32 || f.SHA256 != strings.ToLower(f.SHA256):
			return nil, fmt.Errorf("%s, files[%d]: sha256 of %q is %q, expected 64 hexadecimal digits", ManifestName, i, shorten(f.Path), shorten(f.SHA256))
		}
		seen[f.Path] = true
	}
	for i, p := range m.Phases {
		if !fs.ValidPath(p.Path) || strings.Contains(p.Path, `\`) {
			return nil, fmt.Errorf("%s, phases[%d]: path %q is not a folder of the bundle", ManifestName, i, shorten(p.Path))
		}
	}
	return &m, nil
}

// validName tells whether name can be a file's path inside a bundle: relative,
// slash-separated, clean, of bounded depth, and the same on every system.
func validName(name string) bool {
	return name != "." && len(name) <= 4096 && strings.Count(name, "/") < 64 &&
		fs.ValidPath(name) && !strings.ContainsAny(name, "\\\x00")
}

func shorten(s string) string {
	const n = 80
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
