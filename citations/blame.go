package citations

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Commit is a commit that changed how often an anchor stands in its file.
type Commit struct {
	ID, Date, Subject string
	Release           string // first tag that holds it, empty if git knows none
}

// Blame finds the commits, newest first, that brought, removed or moved the
// text of a record in the file it names. The tree must be a git one.
func Blame(ctx context.Context, t *Tree, rec Record, limit int) ([]Commit, error) {
	if t.err != nil {
		return nil, t.err
	}
	g, ok := t.src.(*gitSource)
	if !ok {
		return nil, unavailable(t.Spec, "give REPOSITORY@REVISION", "it is a %s, and only a git repository knows commits", t.Kind)
	}
	if !t.Version.Known() {
		if err := t.load(ctx, &need{files: map[string]bool{}}, newStore()); err != nil {
			return nil, err
		}
	}
	var file, text string
	switch r := rec.(type) {
	case *Reference:
		at := r.At(t.Version)
		file, text = at.Path, at.Anchor
	case *Assertion:
		at := r.At(t.Version)
		file, _ = at.scope()
		if text = at.Subject; text == "" {
			text = at.Expect[0]
		}
	}
	// White space is folded as when matching.
	words := strings.Fields(text)
	for i := range words {
		words[i] = escapeRegexp(words[i])
	}
	re := strings.Join(words, "[[:space:]]+")
	out, err := runGit(ctx, g.dir, "log", fmt.Sprintf("-n%d", limit), "--format=%H%x09%cs%x09%s", "--extended-regexp", "--pickaxe-regex", "-S"+re, g.commit, "--", file)
	if err != nil {
		return nil, g.failed(err)
	}
	var commits []Commit
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(f) != 3 {
			continue
		}
		c := Commit{ID: f[0], Date: f[1], Subject: f[2]}
		if tag, err := runGit(ctx, g.dir, "describe", "--contains", "--match=v*", c.ID); err == nil {
			c.Release, _, _ = strings.Cut(strings.TrimSpace(tag), "~")
			c.Release, _, _ = strings.Cut(c.Release, "^")
		}
		commits = append(commits, c)
	}
	return commits, nil
}

var posixSpecial = regexp.MustCompile(`[][\\.^$*+?(){}|]`)

// escapeRegexp makes s match itself as a POSIX extended expression.
func escapeRegexp(s string) string { return posixSpecial.ReplaceAllString(s, `\$0`) }
