package citations

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Pins is the part of ringaudit.toml that is about citations:
//
//	[citations]
//	documents = ["blueprints"]
//	permalink = "https://git.kernel.org/…/tree/{path}?h=v{version}#n{line}"
//
//	[[citations.trees]]
//	version = "6.12.117"
//	source = "linux-6.12.117-tracing.tar.zst"
//	sha256 = "…"
//
// Paths are relative to the file.
type Pins struct {
	File      string
	Documents []string
	Permalink string
	Baseline  string
	Cache     string
	Trees     []Pin
}

// Pin is one tree that counts.
type Pin struct {
	Version   string
	Source    string   // what to open, as for --tree; empty: only given ones
	SHA256    []string // of archives, any of them
	Commit    string   // of a git tree
	Permalink string
}

// ParsePins reads the [citations] table of a configuration file; nil if it has
// none. Other tables are not looked at.
func ParsePins(file string, data []byte) (*Pins, error) {
	var raw struct{ Citations map[string]any }
	if _, err := toml.Decode(string(data), &raw); err != nil {
		return nil, tomlError(file, err)
	}
	if raw.Citations == nil {
		return nil, nil
	}
	r := reader{m: raw.Citations, kind: "citations"}
	p := &Pins{File: filepath.ToSlash(file), Documents: r.strs("documents"), Permalink: r.str("permalink"), Baseline: r.str("baseline"), Cache: r.str("cache")}
	seen := make(map[string]bool)
	for _, m := range r.tables("trees") {
		t := reader{m: m}
		pin := Pin{Source: t.str("source"), Commit: t.str("commit"), Permalink: t.str("permalink")}
		_, v := t.version("version")
		pin.Version = v.String()
		if s, ok := m["sha256"].(string); ok {
			t.get("sha256")
			pin.SHA256 = []string{s}
		} else {
			pin.SHA256 = t.strs("sha256")
		}
		for _, s := range pin.SHA256 {
			if !isHex(s, 64) {
				t.errorf("sha256: found %q, expected 64 hexadecimal digits", s)
			}
		}
		if pin.Commit != "" && !isHex(pin.Commit, 40) {
			t.errorf("commit: found %q, expected 40 hexadecimal digits", pin.Commit)
		}
		if pin.Version == "" {
			t.errorf("no version")
		} else if seen[pin.Version] {
			t.errorf("version %s is pinned twice", pin.Version)
		}
		seen[pin.Version] = true
		if len(pin.SHA256) == 0 && pin.Commit == "" {
			t.errorf("neither sha256 nor commit: a version alone does not pin a tree")
		}
		checkTemplate(&t, pin.Permalink)
		t.done(" in [[citations.trees]]")
		if len(t.errs) > 0 {
			r.errorf("[[citations.trees]] %s: %s", pin.Version, strings.Join(t.errs, "; "))
		}
		p.Trees = append(p.Trees, pin)
	}
	checkTemplate(&r, p.Permalink)
	r.done(" in [citations]")
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("%s: %s", file, strings.Join(r.errs, "; "))
	}
	return p, nil
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

func checkTemplate(r *reader, tmpl string) {
	if tmpl != "" && (!strings.Contains(tmpl, "{path}") || !strings.HasPrefix(tmpl, "https://") && !strings.HasPrefix(tmpl, "http://")) {
		r.errorf("permalink: found %q, expected an http(s) URL with {path}, {line} and {version}", tmpl)
	}
}

// Resolve is the path of a name in the configuration, relative to its file.
func (p *Pins) Resolve(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(filepath.FromSlash(p.File)), filepath.FromSlash(name))
}

// pin is the pin of a version.
func (p *Pins) pin(version string) *Pin {
	if p == nil {
		return nil
	}
	for i := range p.Trees {
		if p.Trees[i].Version == version {
			return &p.Trees[i]
		}
	}
	return nil
}

// verify refuses a tree that is not the pinned one. An archive must have the
// pinned hash, a revision the pinned commit, an extract must be made of one of
// these; a folder has neither, and is compared file by file with the lock.
func (p *Pins) verify(t *Tree, sets []*Set, locks map[string]*Lock) error {
	if len(p.Trees) == 0 {
		return nil
	}
	v := t.Version.String()
	pin := p.pin(v)
	if pin == nil {
		var have []string
		for _, x := range p.Trees {
			have = append(have, x.Version)
		}
		return unavailable(t.Spec, "give a pinned tree, or pin this one", "it is version %s, and %s pins %s", v, p.File, strings.Join(have, ", "))
	}
	if t.Permalink == "" {
		t.Permalink = pin.Permalink
	}
	hint := "give the tree that is pinned, or pin this one"
	switch {
	case t.Kind == "git":
		if pin.Commit == t.Commit {
			return nil
		}
		if pin.Commit != "" {
			return unavailable(t.Spec, hint, "it is commit %s, and %s pins %s for %s", t.Commit[:12], p.File, pin.Commit[:12], v)
		}
	case t.SHA256 != "" && slices.Contains(pin.SHA256, t.SHA256):
		return nil
	case t.Kind == "extract":
		if t.Origin.SHA256 != "" && slices.Contains(pin.SHA256, t.Origin.SHA256) || t.Origin.Commit != "" && t.Origin.Commit == pin.Commit {
			return nil
		}
		return unavailable(t.Spec, hint, "it is an extract of something else than what %s pins for %s", p.File, v)
	case t.SHA256 != "" && len(pin.SHA256) > 0:
		return unavailable(t.Spec, hint, "its SHA-256 is %s…, and %s pins %s… for %s", t.SHA256[:12], p.File, pin.SHA256[0][:12], v)
	}
	return p.verifyFiles(t, sets, locks)
}

// verifyFiles compares a tree that has no hash of its own with the files that
// the locks know.
func (p *Pins) verifyFiles(t *Tree, sets []*Set, locks map[string]*Lock) error {
	v := t.Version.String()
	compared := 0
	for _, s := range sets {
		l := locks[s.Name]
		if l == nil || l.Trees[v] == nil {
			continue
		}
		for _, name := range sortedKeys(l.Trees[v].Files) {
			f, want := t.files[name], l.Trees[v].Files[name]
			if f != nil && f.Blob != want {
				return unavailable(t.Spec, "give the tree that is pinned", "its %s is not that of the pinned %s (blob %s, the lock has %s)", name, v, f.Blob[:12], want[:min(12, len(want))])
			}
			if f != nil {
				compared++
			}
		}
	}
	if compared == 0 {
		return unavailable(t.Spec, "give the archive or the git revision that is pinned", "a %s has no hash to compare with the pin of %s, and no lock knows its files", t.Kind, v)
	}
	return nil
}
