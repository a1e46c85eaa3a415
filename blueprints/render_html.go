package blueprints

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// nodeRenderer writes the nodes that a page shows otherwise than goldmark.
type nodeRenderer struct {
	bp    *Blueprint
	opt   RenderOptions
	cited *Cited
	uses  map[string][]useView
	wide  int // tables and listings so far
}

// RegisterFuncs tells goldmark which nodes these are.
func (r *nodeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindGenerated, r.generated)
	reg.Register(kindProvenance, r.provenance)
	reg.Register(kindCitation, r.citation)
	reg.Register(ast.KindImage, r.image)
	reg.Register(ast.KindLink, r.anchor)
	reg.Register(ast.KindFencedCodeBlock, r.code)
	reg.Register(ast.KindCodeBlock, r.code)
	reg.Register(ast.KindRawHTML, r.nothing)
	reg.Register(ast.KindHTMLBlock, r.nothing)
	reg.Register(east.KindTable, r.table)
}

func (r *nodeRenderer) nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func (r *nodeRenderer) generated(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	g := n.(*generatedNode)
	if !entering {
		w.WriteString("</section>\n")
		return ast.WalkContinue, nil
	}
	fmt.Fprintf(w, `<section class="generated" aria-label="Generated block of section %s">`+"\n", html.EscapeString(g.section))
	w.WriteString(`<p class="tag">Generated`)
	if g.seal != "" {
		fmt.Fprintf(w, ` · sealed <code>%s</code>`, html.EscapeString(g.seal))
	}
	w.WriteString("</p>\n")
	return ast.WalkContinue, nil
}

func (r *nodeRenderer) provenance(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	s := n.(*provenanceNode).source
	var parts []string
	add := func(format string, v string) {
		if v != "" {
			parts = append(parts, fmt.Sprintf(format, html.EscapeString(v)))
		}
	}
	kind := map[string]string{"btf": "types of the kernel (BTF)", "evidence": "evidence", "corpus": "evidence", "tree": "kernel source", "none": "nothing yet"}[s.Kind]
	add("from %s", or(kind, s.Kind))
	add("<code>%s</code>", s.Path)
	add("Linux %s", s.Kernel)
	add("%s", s.Arch)
	if len(s.SHA256) > 12 {
		fmt.Fprintf(w, "")
		parts = append(parts, fmt.Sprintf(`<span title="%s">sha256 <code>%s…</code></span>`, html.EscapeString(s.SHA256), html.EscapeString(s.SHA256[:12])))
	}
	if !s.Evidence {
		parts = append(parts, `<strong class="warn">not evidence</strong>`)
	}
	fmt.Fprintf(w, `<p class="prov">%s</p>`+"\n", strings.Join(parts, " · "))
	return ast.WalkContinue, nil
}

// citation writes a marker as a link to the exact line, or, where no line is
// known, to the record's entry in the page.
func (r *nodeRenderer) citation(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	c := n.(*citationNode)
	rec := r.cited.Record(c.id)
	id := fmt.Sprintf("c-%s-%d", c.short, c.n+1)
	if rec == nil {
		fmt.Fprintf(w, `<span class="cite" id="%s">%s</span>`, html.EscapeString(id), html.EscapeString(c.short))
		return ast.WalkContinue, nil
	}
	word := "Reference"
	if rec.Kind != "reference" {
		word = "Assertion"
	}
	href, title, rel := "#"+c.short, rec.Scope, ""
	if at := rec.Best(); at != nil && rec.Kind == "reference" {
		href, rel = at.URL, ` rel="noopener noreferrer"`
		title = fmt.Sprintf("%s:%d in %s: %s", at.Path, at.Line, at.Version, or(at.Text, rec.Text))
	}
	fmt.Fprintf(w, `<a class="cite" id="%s" href="%s" title="%s"%s><span class="vh">%s </span>%s</a>`,
		html.EscapeString(id), html.EscapeString(href), html.EscapeString(title), rel, word, html.EscapeString(c.short))
	return ast.WalkContinue, nil
}

func (r *nodeRenderer) anchor(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l := n.(*ast.Link)
	href, ok := r.link(string(l.Destination))
	switch {
	case ok && entering:
		rel := ""
		if strings.Contains(href, "://") {
			rel = ` rel="noopener noreferrer"`
		}
		fmt.Fprintf(w, `<a href="%s"%s>`, html.EscapeString(href), rel)
	case ok:
		w.WriteString("</a>")
	case entering:
		w.WriteString(`<span class="file">`)
	default:
		w.WriteString("</span>")
	}
	return ast.WalkContinue, nil
}

// image puts a picture of the blueprint's folder into the page. As the source
// of an img element it can neither run scripts nor reach the network, nor can
// its styles leave it.
func (r *nodeRenderer) image(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	img := n.(*ast.Image)
	alt := string(plainText(n, src))
	dest := string(img.Destination)
	data, kind, err := r.picture(dest)
	if err != nil {
		return ast.WalkStop, fmt.Errorf("picture %s: %w", dest, err)
	}
	class, source := "figure", ""
	switch narrow, kind, err := r.picture(narrowName(dest)); {
	case err == nil:
		class = "figure both"
		source = fmt.Sprintf(`<source media="(max-width: 40rem)" srcset="data:%s;base64,%s">`, kind, base64.StdEncoding.EncodeToString(narrow))
	case !errors.Is(err, fs.ErrNotExist):
		return ast.WalkStop, fmt.Errorf("picture %s: %w", narrowName(dest), err)
	}
	fmt.Fprintf(w, `<span class="%s" role="region" tabindex="0" aria-label="Diagram"><picture>%s<img src="data:%s;base64,%s" alt="%s"></picture></span>`,
		class, source, kind, base64.StdEncoding.EncodeToString(data), html.EscapeString(alt))
	return ast.WalkSkipChildren, nil
}

// narrowName is the name under which a picture's variant for narrow screens
// lies beside it: NAME.narrow.svg.
func narrowName(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + ".narrow" + ext
}

// maxPicture bounds a picture that goes into a page, in bytes.
const maxPicture = 4 << 20

// picture reads an image that lies below the blueprint's folder.
func (r *nodeRenderer) picture(dest string) (data []byte, kind string, err error) {
	name := filepath.FromSlash(dest)
	if !filepath.IsLocal(name) {
		return nil, "", fmt.Errorf("only pictures below the blueprint's folder are put into its page")
	}
	kinds := map[string]string{".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
	kind = kinds[strings.ToLower(filepath.Ext(name))]
	if kind == "" {
		return nil, "", fmt.Errorf("expected one of .svg, .png, .jpg, .webp")
	}
	full := filepath.Join(r.bp.Dir(), name)
	info, err := os.Stat(full)
	if err != nil {
		return nil, "", reason(err)
	}
	if info.Size() > maxPicture {
		return nil, "", fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxPicture)
	}
	data, err = os.ReadFile(full)
	if err != nil {
		return nil, "", reason(err)
	}
	if kind == "image/svg+xml" {
		err = checkSVG(data)
	}
	return data, kind, err
}

func (r *nodeRenderer) code(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	r.wide++
	fmt.Fprintf(w, `<pre role="region" tabindex="0" aria-label="Listing %d"><code>`, r.wide)
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		w.WriteString(html.EscapeString(string(seg.Value(src))))
	}
	w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

// table puts a table where it can be scrolled by itself, so that the page never
// has to be.
func (r *nodeRenderer) table(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		r.wide++
		fmt.Fprintf(w, `<div class="scroll" role="region" tabindex="0" aria-label="Table %d"><table>`+"\n", r.wide)
	} else {
		w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}
