package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/blueprints"
)

// blueprintFormats are the formats of blueprint check.
var blueprintFormats = []formatChoice{
	{"text", "a line for each fault, what differs below it, and what was checked"},
	{"json", "one object: blueprints, faults, counts"},
	{"github", "annotations for a GitHub workflow"},
}

func newBlueprintCheckCmd(env *Env) *cobra.Command {
	var (
		src     blueprintSources
		formats formatFlags
		all     bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE.md…",
		Short: "Hold blueprints against their form, seals, sources and citations",
		Long: `Checks the nine sections, the header, the seals of generated blocks, that each
block is what its sources give today, that a complete blueprint rests on evidence
and a named reader, and that each citation has a record and each record a
citation. With --tree, citations are looked up in kernel source; without, they
are held against the lock. Other projects' blueprints with bpc: markers are
checked as they are.

Exit code 1 if anything is wrong, 3 if something could not be looked at.`,
		Example: `  ringaudit blueprint check blueprints
  ringaudit blueprint check --tree linux-6.12.117.tar.zst blueprints/trace-ring-buffer.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBlueprintCheck(cmd.Context(), env, args, src, formats, all)
		},
	}
	src.add(cmd)
	formats.add(cmd, blueprintFormats)
	cmd.Flags().BoolVar(&all, "all", false, "show the notes about citations too")
	return cmd
}

func runBlueprintCheck(ctx context.Context, env *Env, args []string, src blueprintSources, formats formatFlags, all bool) error {
	outs, err := formats.outputs()
	if err != nil {
		return err
	}
	files, err := blueprintFiles(args)
	if err != nil {
		return err
	}
	opt, err := src.options(ctx, env)
	if err != nil {
		return err
	}
	res, err := blueprints.Check(ctx, files, opt)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	err = env.write(outs, func(w io.Writer, o output) error {
		switch o.Format {
		case "json":
			return blueprintJSON(w, res)
		case "github":
			return blueprintGitHub(w, res)
		}
		return blueprintText(w, res, all)
	})
	if err != nil {
		return err
	}
	return exitWith(checkCode(res), nil)
}

// checkCode is 1 if anything is wrong, else 3 if anything could not be looked
// at.
func checkCode(res *blueprints.CheckResult) int {
	code := exitOK
	for _, f := range res.Faults {
		switch f.Severity {
		case blueprints.Error:
			return exitFindings
		case blueprints.Undecided:
			code = exitUndecided
		}
	}
	return code
}

func blueprintText(w io.Writer, res *blueprints.CheckResult, all bool) error {
	var b strings.Builder
	errors, notes, hidden := 0, 0, 0
	for _, f := range res.Faults {
		text := faultText(f)
		switch f.Severity {
		case blueprints.Error:
			errors++
		case blueprints.Note:
			notes++
			if f.Rule == blueprints.RuleCitation && !all {
				hidden++
				continue
			}
			text = strings.Replace(text, ": "+f.Rule+": ", ": note: "+f.Rule+": ", 1)
		case blueprints.Undecided:
			text = strings.Replace(text, ": "+f.Rule+": ", ": undecided: "+f.Rule+": ", 1)
		}
		b.WriteString(text + "\n")
	}
	blocks, sealed, compared := 0, 0, 0
	for _, bp := range res.Blueprints {
		blocks, sealed, compared = blocks+bp.Blocks, sealed+bp.Sealed, compared+bp.Compared
	}
	fmt.Fprintf(&b, "%s: %d of %d generated blocks sealed, %d made again and compared; ", plural(len(res.Blueprints), "blueprint"), sealed, blocks, compared)
	if res.Trees {
		fmt.Fprintf(&b, "citations: %s; ", res.Citations)
	} else {
		fmt.Fprintf(&b, "citations: %d places in the locks, no tree given to look them up in; ", res.Locked)
	}
	fmt.Fprintf(&b, "%s, %s", plural(errors, "fault"), plural(notes, "note"))
	if hidden > 0 {
		fmt.Fprintf(&b, " (%d about citations; --all shows them)", hidden)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

type faultJSON struct {
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`
	Col      int      `json:"col,omitempty"`
	Rule     string   `json:"rule"`
	Severity string   `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
	Detail   []string `json:"detail,omitempty"`
}

func blueprintJSON(w io.Writer, res *blueprints.CheckResult) error {
	type one struct {
		File     string `json:"file"`
		Name     string `json:"name"`
		Status   string `json:"status"`
		Blocks   int    `json:"blocks"`
		Sealed   int    `json:"sealed"`
		Compared int    `json:"compared"`
	}
	doc := struct {
		Schema     string      `json:"schema"`
		Exit       int         `json:"exit"`
		Blueprints []one       `json:"blueprints"`
		Citations  any         `json:"citations"`
		Trees      bool        `json:"trees"`
		Locked     int         `json:"locked"`
		Faults     []faultJSON `json:"faults"`
	}{Schema: "ringaudit.blueprints/v1", Exit: checkCode(res), Blueprints: []one{}, Citations: res.Citations, Trees: res.Trees, Locked: res.Locked, Faults: []faultJSON{}}
	for _, bp := range res.Blueprints {
		doc.Blueprints = append(doc.Blueprints, one{filepath.ToSlash(bp.File), bp.Name, bp.Status, bp.Blocks, bp.Sealed, bp.Compared})
	}
	for _, f := range res.Faults {
		doc.Faults = append(doc.Faults, faultJSON{filepath.ToSlash(f.File), f.Line, f.Col, f.Rule, f.Severity.String(), f.Message, f.Hint, f.Detail})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// blueprintGitHub writes workflow commands: one line each, %, CR and LF escaped,
// in properties also : and ,
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
func blueprintGitHub(w io.Writer, res *blueprints.CheckResult) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	prop := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range res.Faults {
		level := map[blueprints.Severity]string{blueprints.Error: "error", blueprints.Note: "notice", blueprints.Undecided: "warning"}[f.Severity]
		place := "file=" + prop.Replace(filepath.ToSlash(f.File))
		if f.Line > 0 {
			place += fmt.Sprintf(",line=%d", f.Line)
		}
		msg := strings.Join(append([]string{f.Message}, f.Detail...), "\n")
		if _, err := fmt.Fprintf(w, "::%s %s,title=%s::%s\n", level, place, prop.Replace(f.Rule), data.Replace(msg)); err != nil {
			return err
		}
	}
	return nil
}

// blueprintRenderOptions is the command line of blueprint render.
type blueprintRenderOptions struct {
	Output    string
	SourceURL string
}

func newBlueprintRenderCmd(env *Env) *cobra.Command {
	var opt blueprintRenderOptions
	cmd := &cobra.Command{
		Use:   "render -o DIR FILE.md…",
		Short: "Make a web page of each blueprint, and an index",
		Long: `Each page is one file that needs nothing else: no network, no scripts. Citations
lead to the exact line in the pinned version and back.`,
		Example: `  ringaudit blueprint render -o site blueprints`,
		RunE:    func(_ *cobra.Command, args []string) error { return runBlueprintRender(env, args, opt) },
	}
	cmd.Flags().StringVarP(&opt.Output, "output", "o", "", "folder to write the pages into; it is made if it is not there")
	cmd.Flags().StringVar(&opt.SourceURL, "source-url", "", "where the blueprints' folder can be seen, for links to files in it")
	return cmd
}

func runBlueprintRender(env *Env, args []string, opt blueprintRenderOptions) error {
	if opt.Output == "" {
		return usagef("-o: name the folder to write the pages into")
	}
	files, err := blueprintFiles(args)
	if err != nil {
		return err
	}
	var (
		bps  []*blueprints.Blueprint
		ropt = blueprints.RenderOptions{Cited: map[string]*blueprints.Cited{}, SourceURL: opt.SourceURL}
		bad  = false
	)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		bp, faults := blueprints.Parse(file, text)
		for _, f := range faults {
			bad = true
			fmt.Fprintln(env.Stderr, faultText(f))
		}
		cited, err := blueprints.LoadCited(bp, nil)
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if slices.Contains(ropt.Pages, name) {
			return usagef("%s: a second blueprint of the name %s; their pages would have one name", file, name)
		}
		bp.Front.Name = name // the page's name, whatever the header says
		ropt.Cited[name] = cited
		ropt.Pages = append(ropt.Pages, name)
		bps = append(bps, bp)
	}
	if bad {
		return exitWith(exitFindings, fmt.Errorf("nothing was rendered"))
	}
	pages := map[string][]byte{}
	for i, bp := range bps {
		page, err := blueprints.Render(bp, ropt)
		if err != nil {
			return exitWith(exitFindings, err)
		}
		pages[ropt.Pages[i]+".html"] = page
	}
	index, err := blueprints.RenderIndex(bps, ropt)
	if err != nil {
		return exitWith(exitFindings, err)
	}
	pages["index.html"] = index
	if err := os.MkdirAll(opt.Output, 0o755); err != nil {
		return exitWith(exitUnreadable, err)
	}
	for _, name := range append([]string{"index"}, ropt.Pages...) {
		name += ".html"
		f, err := newWholeFile(filepath.Join(opt.Output, name))
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		if _, err := f.Write(pages[name]); err != nil {
			f.Abort()
			return exitWith(exitUnreadable, err)
		}
		if err := f.Commit(); err != nil {
			return exitWith(exitUnreadable, err)
		}
		fmt.Fprintln(env.Stdout, filepath.ToSlash(filepath.Join(opt.Output, name)))
	}
	return nil
}
