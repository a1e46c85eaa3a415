package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/blueprints"
)

func newBlueprintCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blueprint",
		Short: "Documentation of the kernel that cannot go stale: generate, check, render",
		Long: `A blueprint describes one mechanism of the kernel in nine sections. Its structures
and functions are generated from the kernel's own types (BTF), what can be
observed of it from recorded evidence, and what its sentences say is cited from
kernel source. Generated blocks are sealed; check tells when a block was edited,
when its source changed, and when a citation no longer holds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBlueprintNewCmd(env), newBlueprintGenerateCmd(env), newBlueprintCheckCmd(env),
		newBlueprintRenderCmd(env), newBlueprintCutCmd(env))
	return cmd
}

// blueprintSources are the flags that say where generated blocks come from.
type blueprintSources struct {
	BTF      []string
	Evidence []string
	trees    treeFlags
}

func (s *blueprintSources) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.BTF, "btf", nil, "kernel types: "+blueprints.RunningBTF+", a vmlinux, or a blob; repeatable, a column each (default: as the documents say)")
	f.StringArrayVar(&s.Evidence, "evidence", nil, "folder in which the documents' evidence is looked for first; repeatable")
	s.trees.add(cmd)
	f.Lookup("tree").Usage = "kernel source: a folder, a .tar[.gz|.xz|.zst] archive, an extract, or REPOSITORY@REVISION; repeatable (default: none, or those that --config pins)"
}

// options opens what the flags name. Pinned trees are read only where the
// configuration is named: a document can be checked without any.
func (s *blueprintSources) options(ctx context.Context, env *Env) (blueprints.Options, error) {
	opt := blueprints.Options{Evidence: s.Evidence}
	for _, e := range s.Evidence {
		if _, err := os.Stat(e); err != nil {
			return opt, exitWith(exitUnreadable, fmt.Errorf("--evidence: %w", err))
		}
	}
	for _, name := range s.BTF {
		b, err := blueprints.OpenBTF(name)
		if err != nil {
			return opt, exitWith(exitUnreadable, fmt.Errorf("--btf: %w", err))
		}
		opt.BTF = append(opt.BTF, b)
	}
	if len(s.trees.Trees) == 0 && s.trees.Config == "" {
		return opt, nil
	}
	pins, err := s.trees.pins()
	if err != nil {
		return opt, err
	}
	opt.Pins, opt.Trees = pins, s.trees.open(ctx, env, pins)
	return opt, nil
}

// blueprintFiles are the blueprints that arguments name: files, and folders for
// the .md files in them. A README.md is no blueprint. Other .md files of a
// folder count where they begin with a header.
func blueprintFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usagef("name the blueprints: files, or the folder that holds them")
	}
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, exitWith(exitUnreadable, err)
		}
		if !info.IsDir() {
			if !strings.HasSuffix(arg, ".md") {
				return nil, usagef("%s: a blueprint is a .md file", arg)
			}
			if filepath.Base(arg) != "README.md" {
				out = append(out, arg)
			}
			continue
		}
		names, err := filepath.Glob(filepath.Join(arg, "*.md"))
		if err != nil {
			return nil, usagef("%s: %v", arg, err)
		}
		for _, name := range names {
			head, err := firstBytes(name, 3)
			if err != nil {
				return nil, exitWith(exitUnreadable, err)
			}
			if filepath.Base(name) != "README.md" && (head == "+++" || head == "---") {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		return nil, exitWith(exitUnreadable, fmt.Errorf("no blueprint in %s", strings.Join(args, ", ")))
	}
	return out, nil
}

func firstBytes(name string, n int) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, n)
	got, _ := f.Read(buf) // an empty file is simply no blueprint
	return string(buf[:got]), nil
}

func newBlueprintNewCmd(env *Env) *cobra.Command {
	var dir, title string
	cmd := &cobra.Command{
		Use:     "new NAME --title TITLE",
		Short:   "Begin a blueprint: nine sections to fill in, and the file for its references",
		Example: `  ringaudit blueprint new trace-ring-buffer --title "The trace ring buffer" --dir blueprints`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := blueprints.New(dir, args[0], title)
			if err != nil {
				if pe := new(fs.PathError); errors.As(err, &pe) {
					return exitWith(exitUnreadable, err)
				}
				return usagef("%v", err)
			}
			_, err = fmt.Fprintln(env.Stdout, filepath.ToSlash(file))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder to write it into")
	cmd.Flags().StringVar(&title, "title", "", "title of the document")
	return cmd
}

func newBlueprintGenerateCmd(env *Env) *cobra.Command {
	var src blueprintSources
	cmd := &cobra.Command{
		Use:   "generate FILE.md…",
		Short: "Fill and seal the generated blocks from kernel types and evidence",
		Long: `Sections 2 and 7 are generated from BTF, section 5 from the evidence that the
header lists: anything that audit reads. A file is written whole or not at all,
and a second run with the same sources changes nothing.`,
		Example: `  ringaudit blueprint generate --btf blueprints/btf/6.12.117.btf blueprints/*.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBlueprintGenerate(cmd.Context(), env, args, src)
		},
	}
	src.add(cmd)
	return cmd
}

func runBlueprintGenerate(ctx context.Context, env *Env, args []string, src blueprintSources) error {
	files, err := blueprintFiles(args)
	if err != nil {
		return err
	}
	opt, err := src.options(ctx, env)
	if err != nil {
		return err
	}
	failed := false
	for _, file := range files {
		g, err := blueprints.Generate(ctx, file, opt)
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		for _, f := range g.Faults {
			fmt.Fprintln(env.Stderr, faultText(f))
		}
		word := "unchanged"
		switch {
		case blueprints.HasErrors(g.Faults):
			failed, word = true, "not written"
		case g.Changed:
			word = "written"
		}
		note := ""
		if len(g.Kept) > 0 {
			note = fmt.Sprintf(" (kept as it was, its source is not here: section %s)", strings.Join(g.Kept, ", "))
		}
		fmt.Fprintf(env.Stdout, "%s: %s%s\n", filepath.ToSlash(file), word, note)
	}
	if failed {
		return exitWith(exitFindings, nil)
	}
	return nil
}

// faultText is a fault as people read it: one line, and what differs below.
func faultText(f blueprints.Fault) string {
	var b strings.Builder
	b.WriteString(f.Error())
	for _, d := range f.Detail {
		b.WriteString("\n    " + d)
	}
	return b.String()
}

// blueprintCutOptions is the command line of blueprint cut.
type blueprintCutOptions struct {
	BTF, Output                   string
	Structures, Functions         []string
	Kernel, Version, Arch, Origin string
}

func newBlueprintCutCmd(env *Env) *cobra.Command {
	var opt blueprintCutOptions
	cmd := &cobra.Command{
		Use:   "cut --btf FILE -o OUT.btf [FILE.md…]",
		Short: "Cut a kernel's types down to what blueprints need, small enough to commit",
		Long: `Writes the part of a kernel's BTF that the structures and functions of the named
blueprints need, and OUT.btf.toml, which says of which kernel it is and which of
the names that kernel lacks.`,
		Example: `  ringaudit blueprint cut --btf /sys/kernel/btf/vmlinux -o blueprints/btf/6.12.117.btf --kernel-version 6.12.117 blueprints`,
		RunE:    func(_ *cobra.Command, args []string) error { return runBlueprintCut(env, args, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.BTF, "btf", blueprints.RunningBTF, "what to cut: a vmlinux, a blob, or the running kernel's types")
	f.StringVarP(&opt.Output, "output", "o", "", "the blob to write")
	f.StringArrayVar(&opt.Structures, "struct", nil, "a structure, union, enum or typedef to keep; repeatable")
	f.StringArrayVar(&opt.Functions, "func", nil, "a function to keep; repeatable")
	f.StringVar(&opt.Kernel, "kernel", "", "release of that kernel, as uname -r prints it, where the file does not tell")
	f.StringVar(&opt.Version, "kernel-version", "", "version of its source, such as 6.12.117")
	f.StringVar(&opt.Arch, "arch", "", "its architecture, as uname -m prints it, where the file does not tell")
	f.StringVar(&opt.Origin, "origin", "", "where it comes from, in words")
	return cmd
}

func runBlueprintCut(env *Env, args []string, opt blueprintCutOptions) error {
	if opt.Output == "" {
		return usagef("-o: name the file to write")
	}
	cut := blueprints.CutOptions{Structures: opt.Structures, Functions: opt.Functions,
		Kernel: opt.Kernel, Version: opt.Version, Arch: opt.Arch, Origin: opt.Origin}
	if len(args) > 0 {
		files, err := blueprintFiles(args)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return exitWith(exitUnreadable, err)
			}
			bp, _ := blueprints.Parse(file, text)
			cut.Structures = append(cut.Structures, bp.Front.Structures...)
			cut.Functions = append(cut.Functions, bp.Front.Functions...)
		}
	}
	if len(cut.Structures)+len(cut.Functions) == 0 {
		return usagef("nothing to keep: name blueprints, --struct or --func")
	}
	b, err := blueprints.OpenBTF(opt.BTF)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	absent, err := blueprints.CutBTF(b, opt.Output, cut)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	info, err := os.Stat(opt.Output)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	fmt.Fprintf(env.Stdout, "%s: %d bytes\n", filepath.ToSlash(opt.Output), info.Size())
	if len(absent) > 0 {
		fmt.Fprintf(env.Stderr, "not in this kernel: %s\n", strings.Join(absent, ", "))
	}
	return nil
}
