package cli

import (
	"fmt"
	"strings"

	"weir/core/scheme"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/measure"
	"weir/study/report"
)

// listed is a name that weir list prints, except experiments.
type listed struct {
	kind, name, doc string
	show            func(a *app)
}

// listNames returns all names: schemes, measures, distributions of flow sizes, formats, and kinds of warnings.
func (a *app) listNames() (all []listed) {
	for _, k := range a.listSchemes() {
		all = append(all, listed{k.kind, k.s.Name, k.s.Doc, func(a *app) { a.showScheme(k) }})
	}
	for _, m := range a.registry.Measures {
		all = append(all, listed{"measure", m.Name, m.Doc, func(a *app) { a.showMeasure(&m) }})
	}
	for _, d := range a.registry.Workloads {
		all = append(all, listed{"sizes", d.Name, sizesDoc(&d), func(a *app) { a.showSizes(&d) }})
	}
	format := func(kind, name, doc, use string) {
		all = append(all, listed{kind, name, doc, func(a *app) { a.showHead(kind, name, doc, use) }})
	}
	for _, f := range a.registry.Networks {
		format("format of networks", f.Name, f.Doc, "topology: {file: …, format: "+f.Name+"}")
	}
	for _, f := range a.registry.Flows {
		format("format of flows", f.Name, f.Doc, "traffic: [{name: …, file: …, format: "+f.Name+", …}]")
	}
	for _, f := range a.registry.Imports {
		format("format of weir import", f.Name, f.Doc, "weir import FILE --format "+f.Name)
	}
	for _, f := range a.registry.Formats {
		format("format of weir export", f.Name, f.Doc, "weir export results DIR --format "+f.Name)
	}
	for _, k := range a.warningKinds() {
		all = append(all, listed{"warning", k.ID, k.Condition, func(a *app) { a.showWarning(k) }})
	}
	return all
}

// showWarning prints a kind of warning: when it is issued, and where its tests are listed.
func (a *app) showWarning(k scheme.WarningKind) {
	fmt.Fprintf(a.stdout, "%s\n%s\n", report.WrapText("warning "+k.ID+": "+k.Condition, a.lineWidth(), "    "),
		report.WrapText("tests: weir docs warnings", a.lineWidth(), "    "))
}

// showHead prints a name's description and its use.
func (a *app) showHead(kind, name, doc, use string) {
	fmt.Fprintf(a.stdout, "%s\n%s\n", report.WrapText(kind+" "+name+": "+doc, a.lineWidth(), "    "),
		report.WrapText("use: "+use, a.lineWidth(), "    "))
}

// showMeasure prints a measure with its options.
func (a *app) showMeasure(m *measure.Definition) {
	use := "measure: [" + m.Name + "]"
	if len(m.Keys) > 0 {
		use += ", or with options, measure: [{" + m.Name + ": {" + m.Keys[0].Name + ": …}}]"
	}
	a.showHead("measure", m.Name, m.Doc, use)
	fmt.Fprintln(a.stdout)
	if len(m.Keys) == 0 {
		fmt.Fprintln(a.stdout, "It has no options.")
		return
	}
	for i := range m.Keys {
		k := &m.Keys[i]
		fmt.Fprintln(a.stdout, k.Name)
		texts := []string{k.Doc, "value: " + strings.ReplaceAll(k.Form.Text, "`", "") + "; " + describeDefault(k)}
		for _, c := range k.Cases {
			texts = append(texts, c.When+": default "+c.Default)
		}
		if k.Source != "" {
			texts = append(texts, "source: "+k.Source)
		}
		for _, text := range texts {
			fmt.Fprintln(a.stdout, report.WrapHanging("    ", text, "    ", a.lineWidth()))
		}
	}
}

// describeDefault describes the behavior without an option.
func describeDefault(k *document.Key) string {
	switch {
	case k.Required:
		return "required"
	case k.Default != "":
		return "default " + k.Default
	case k.Without != "":
		return "default: " + k.Without
	}
	return "optional"
}

// sizesDoc describes a distribution of flow sizes.
func sizesDoc(d *workload.CDF) string {
	return fmt.Sprintf("flow sizes, mean %.0f bytes", d.MeanSize())
}

// showSizes prints a distribution of flow sizes.
func (a *app) showSizes(d *workload.CDF) {
	a.showHead("sizes", d.Name, sizesDoc(d), "traffic: [{name: …, sizes: "+d.Name+", load: 50%, …}]")
	fmt.Fprintf(a.stdout, "\n%14s  %s\n", "size [bytes]", "flows up to this size")
	for _, p := range d.Points {
		fmt.Fprintf(a.stdout, "%14.0f  %.4g %%\n", p.Bytes, 100*p.Share)
	}
}

// generalKind returns the kind for messages: programs, controllers and so on are schemes.
func (x *listed) generalKind() string {
	switch {
	case x.kind == "measure" || x.kind == "sizes" || x.kind == "warning":
		return x.kind
	case strings.HasPrefix(x.kind, "format"):
		return "format"
	}
	return "scheme"
}

// nearestListed returns the kind and name that a misspelt name may mean, or "".
func nearestListed(all []listed, name string) string {
	var names []string
	for _, x := range all {
		names = append(names, x.name)
	}
	nearest := document.FindNearest(name, names)
	for _, x := range all {
		if x.name == nearest {
			return fmt.Sprintf("%s %q", x.generalKind(), nearest)
		}
	}
	return ""
}
