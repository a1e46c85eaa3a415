package citations

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// The cache holds, for each large archive by the hash of its bytes, an extract
// of the files that were asked for so far. It is only ever a shortcut: whatever
// is wrong with it, the archive itself is read.

func (a *archive) cacheFile() string {
	return filepath.Join(a.opts.Cache, a.sha256+".tar.zst")
}

func (a *archive) readCached(ctx context.Context, n *need, f *found) error {
	files, m, ok := a.loadCache(ctx)
	if ok && m.covers(n, files) {
		for _, d := range m.dirs {
			f.dir(d)
		}
		if m.whole {
			for _, w := range wholeMarkers {
				f.mark(w)
			}
		}
		for _, name := range sortedKeys(files) {
			if n.wants(name) {
				if err := f.file(name, files[name]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	// Keep what the cache had: documents that cite other files share it.
	if !ok {
		files, m = make(map[string][]byte), &manifest{files: make(map[string]string), absent: make(map[string]bool)}
	}
	dirs := make(map[string]bool)
	seen := make(map[string]bool)
	err := a.readStream(ctx, n, &found{
		file: func(name string, data []byte) error {
			files[name] = data
			return f.file(name, data)
		},
		dir: func(d string) {
			dirs[d] = true
			f.dir(d)
		},
		mark: func(name string) {
			for _, w := range wholeMarkers {
				if name == w {
					seen[name] = true
				}
			}
			f.mark(name)
		},
	})
	if err != nil || a.manifest != nil {
		return err // an extract is not cached
	}
	for name := range n.files {
		if files[name] == nil {
			m.absent[name] = true
		}
	}
	m.dirs = sortedKeys(dirs)
	m.whole = len(seen) == len(wholeMarkers)
	m.folders = union(m.folders, n.folders)
	m.origin.SHA256 = a.sha256
	a.saveCache(m, files)
	return nil
}

func union(a, b []string) (out []string) {
	have := make(map[string]bool)
	for _, s := range append(append([]string(nil), a...), b...) {
		have[s] = true
	}
	return sortedKeys(have)
}

// covers tells whether everything that n wants is in the cache, or known not to
// be in the archive.
func (m *manifest) covers(n *need, files map[string][]byte) bool {
	for name := range n.files {
		if files[name] == nil && !m.absent[name] {
			return false
		}
	}
	for _, want := range n.folders {
		ok := false
		for _, have := range m.folders {
			ok = ok || strings.HasPrefix(want, have)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (a *archive) loadCache(ctx context.Context) (map[string][]byte, *manifest, bool) {
	if _, err := os.Stat(a.cacheFile()); err != nil {
		return nil, nil, false
	}
	c := &archive{spec: a.spec, file: a.cacheFile(), opts: TreeOptions{MaxBytes: maxKept}}
	files := make(map[string][]byte)
	err := c.readStream(ctx, &need{all: true}, &found{
		file: func(name string, data []byte) error { files[name] = data; return nil },
		dir:  func(string) {}, mark: func(string) {},
	})
	if err != nil || c.manifest == nil || c.manifest.origin.SHA256 != a.sha256 {
		return nil, nil, false
	}
	sort.Strings(c.manifest.folders)
	return files, c.manifest, true
}

// saveCache writes the cache whole or not at all. A cache that cannot be
// written is no fault of the run.
func (a *archive) saveCache(m *manifest, files map[string][]byte) {
	a.saveFile(a.cacheFile(), func(w io.Writer) error { return writeExtract(w, m, files) })
}

func (a *archive) saveFile(file string, write func(io.Writer) error) {
	if os.MkdirAll(a.opts.Cache, 0o755) != nil {
		return
	}
	tmp, err := os.CreateTemp(a.opts.Cache, ".new-*")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	err = write(tmp)
	if cerr := tmp.Close(); err == nil && cerr == nil {
		os.Rename(tmp.Name(), file)
	}
}

// searchCached scans the archive, or takes what an earlier run found in the
// same bytes for the same texts.
func (a *archive) searchCached(ctx context.Context, version string, texts []string, out map[string][]Place, visit func(string, []byte)) error {
	if a.opts.Cache == "" || a.size <= cacheAbove {
		return a.scan(ctx, visit)
	}
	file := filepath.Join(a.opts.Cache, a.sha256+".search.json")
	known := make(map[string][]Place)
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &known) != nil {
		known = make(map[string][]Place)
	}
	all := true
	for _, s := range texts {
		_, ok := known[s]
		all = all && ok
	}
	if !all {
		if err := a.scan(ctx, visit); err != nil {
			return err
		}
		for _, s := range texts {
			known[s] = append([]Place{}, out[s]...)
		}
		if data, err := json.Marshal(known); err == nil {
			a.saveFile(file, func(w io.Writer) error { _, err := w.Write(data); return err })
		}
	}
	for _, s := range texts {
		out[s] = nil
		for _, p := range known[s] {
			p.Version = version
			out[s] = append(out[s], p)
		}
	}
	return nil
}
