package citations

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// gitSource is a revision of a git repository: bare, shallow and blobless
// clones too. Files are read with "git cat-file --batch"; nothing is checked
// out.
type gitSource struct {
	spec, dir, commit string
	opts              TreeOptions
}

// gitCommand runs git so that it asks nobody, runs no hook and takes no
// replacement for what was committed.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	args = append([]string{"--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C", dir}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "GIT_PAGER=cat")
	return cmd
}

func runGit(ctx context.Context, dir string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := gitCommand(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if msg := strings.TrimSpace(errs.String()); msg != "" {
			return "", errors.New(firstLine(msg))
		}
		return "", err
	}
	return out.String(), nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (t *Tree) openGit(ctx context.Context, dir, rev string, opts TreeOptions) {
	t.Kind = "git"
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		t.err = unavailable(t.Spec, "git clone --bare --filter=blob:none URL "+dir, "there is no repository %s", dir)
		return
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.err = unavailable(t.Spec, "install git", "the git program is not to be found")
		return
	}
	commit, err := runGit(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		t.err = unavailable(t.Spec, "git -C "+dir+" fetch origin tag "+rev, "no revision %s in %s: %v", rev, dir, err)
		return
	}
	t.Commit = strings.TrimSpace(commit)
	t.src = &gitSource{spec: t.Spec, dir: dir, commit: t.Commit, opts: opts}
}

func (g *gitSource) read(ctx context.Context, n *need, f *found) error {
	want := make(map[string]bool, len(n.files))
	for name := range n.files {
		want[name] = true
	}
	for _, m := range wholeMarkers {
		want[m] = false // whether it is there is enough
	}
	dirs := make(map[string]bool)
	for name := range n.files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, folder := range n.folders {
		names, err := g.list(ctx, folder)
		if err != nil {
			return err
		}
		for _, name := range names {
			if folderSource(name) {
				want[name] = true
			}
		}
	}
	// Folders and markers first, in one question about names only: a blobless
	// clone must not fetch a file whose text nobody wants.
	for _, m := range wholeMarkers {
		if n.files[m] {
			want[m] = true
		}
	}
	var check []string
	for name, text := range want {
		if !text {
			check = append(check, name)
		}
	}
	check = append(check, sortedKeys(dirs)...)
	kinds, err := g.kinds(ctx, check)
	if err != nil {
		return err
	}
	for name, kind := range kinds {
		switch kind {
		case "tree":
			f.dir(name)
		case "blob":
			f.mark(name)
		}
	}
	var names []string
	for _, name := range sortedKeys(want) {
		if want[name] {
			names = append(names, name)
		}
	}
	return g.batch(ctx, names, f.file)
}

// kinds is the type of the object at each of the paths, "missing" for none.
// Trees are always there, also in a blobless clone; "ls-tree" asks for no blob.
func (g *gitSource) kinds(ctx context.Context, names []string) (map[string]string, error) {
	out := make(map[string]string)
	for len(names) > 0 {
		n := min(len(names), 200)
		args := append([]string{"ls-tree", "-z", "--full-tree", g.commit, "--"}, names[:n]...)
		text, err := runGit(ctx, g.dir, args...)
		if err != nil {
			return nil, g.failed(err)
		}
		for rec := range strings.SplitSeq(text, "\x00") {
			meta, name, ok := strings.Cut(rec, "\t")
			if f := strings.Fields(meta); ok && len(f) == 3 {
				out[name] = f[1]
			}
		}
		names = names[n:]
	}
	return out, nil
}

func (g *gitSource) list(ctx context.Context, folder string) (names []string, err error) {
	args := []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", g.commit}
	if folder != "" {
		args = append(args, "--", folder)
	}
	text, err := runGit(ctx, g.dir, args...)
	if err != nil {
		return nil, g.failed(err)
	}
	for name := range strings.SplitSeq(text, "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

func (g *gitSource) failed(err error) error {
	return unavailable(g.spec, "in a blobless clone the objects must be reachable from its remote", "git: %v", err)
}

// batch reads blobs. The answer to each question is "ID blob SIZE", the bytes
// and a newline; or "… missing", or a word about a link (git-cat-file(1),
// BATCH OUTPUT).
func (g *gitSource) batch(ctx context.Context, names []string, file func(string, []byte) error) error {
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := gitCommand(ctx, g.dir, "cat-file", "--batch", "--follow-symlinks")
	var q, errs bytes.Buffer
	for _, name := range names {
		if strings.Contains(name, "\n") {
			return unreadable(g.spec, "it has a file whose name holds a line break: %q", name)
		}
		q.WriteString(g.commit + ":" + name + "\n")
	}
	cmd.Stdin, cmd.Stderr = &q, &errs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return g.failed(err)
	}
	defer cmd.Wait()
	r := bufio.NewReaderSize(pipe, 1<<16)
	for _, name := range names {
		head, err := r.ReadString('\n')
		if err != nil {
			if msg := firstLine(errs.String()); msg != "" {
				err = errors.New(msg)
			}
			return g.failed(err)
		}
		head = strings.TrimSuffix(head, "\n")
		if strings.HasSuffix(head, " missing") {
			continue
		}
		f := strings.Fields(head)
		if len(f) == 2 {
			// A link: "symlink SIZE" leads out, "dangling", "loop" and "notdir"
			// lead nowhere; the target follows.
			if f[0] == "symlink" {
				return unreadable(g.spec, "%s is a link that leads out of the tree", name)
			}
			f = []string{"", f[0], f[1]}
		}
		if len(f) != 3 {
			return g.failed(fmt.Errorf("cat-file: found %q, expected object, type and size", head))
		}
		size, err := strconv.ParseInt(f[2], 10, 63)
		if err != nil || size < 0 {
			return g.failed(fmt.Errorf("cat-file: found size %q", f[2]))
		}
		if size > g.opts.maxFile() {
			return unreadable(g.spec, "%s has %d bytes, more than the limit of %d", name, size, g.opts.maxFile())
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return g.failed(err)
		}
		if _, err := r.ReadByte(); err != nil {
			return g.failed(err)
		}
		if f[1] != "blob" {
			continue
		}
		if err := file(name, data); err != nil {
			return err
		}
	}
	return nil
}

func (g *gitSource) scan(ctx context.Context, visit func(string, []byte)) error {
	all, err := g.list(ctx, "")
	if err != nil {
		return err
	}
	var names []string
	for _, name := range all {
		if searchable(name) {
			names = append(names, name)
		}
	}
	return g.batch(ctx, names, func(name string, data []byte) error {
		if !isBinary(data) {
			visit(name, data)
		}
		return nil
	})
}
