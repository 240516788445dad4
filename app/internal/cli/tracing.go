package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// Limits of --trace-snap: an Ethernet header, and the largest frame of any experiment.
const (
	minSnap = 14
	maxSnap = 65536
)

// parseTracing checks the flags of traces, and prints the estimated size of the traces as a notice. Without --trace it
// returns the zero value. The lab has no estimate.
func (r *runCmd) parseTracing(a *app, s *experiment.Spec) (t run.Tracing, err error) {
	if len(r.Trace) == 0 {
		if len(r.TraceFormat) > 0 || r.TraceSnap != nil {
			return t, fmt.Errorf("%w: --trace-format and --trace-snap need --trace; add it, or leave them out", command.ErrInput)
		}
		return t, nil
	}
	known := run.TraceFormNames()
	for _, f := range r.TraceFormat {
		if !slices.Contains(known, f) {
			near := ""
			if n := document.FindNearest(f, known); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return t, fmt.Errorf("%w: --trace-format is %q%s; allowed: %s", command.ErrInput, f, near,
				document.JoinChoices(known))
		}
	}
	for _, f := range known { // in their order, without duplicates
		if slices.Contains(r.TraceFormat, f) {
			t.Forms = append(t.Forms, f)
		}
	}
	if t.Forms, err = linkedForms(t.Forms, known); err != nil {
		return t, err
	}
	if len(t.Forms) == len(known) {
		t.Forms = nil
	}
	if snap := r.TraceSnap; snap != nil {
		if *snap < minSnap || *snap > maxSnap {
			return t, fmt.Errorf("%w: --trace-snap is %d; %d to %d bytes are allowed", command.ErrInput, *snap, minSnap, maxSnap)
		}
		if t.Forms != nil && !slices.Contains(t.Forms, "pcapng") {
			return t, fmt.Errorf("%w: --trace-snap is for pcapng, which --trace-format excludes; add pcapng, or leave out "+
				"--trace-snap", command.ErrInput)
		}
		t.Snap = *snap
	}
	if r.On == experiment.Lab {
		return t, nil // the lab rejects traces
	}
	forms, all, err := run.EstimateTraceSize(s, r.Trace, t)
	if err != nil {
		return t, err
	}
	var parts []string
	for k, bytes := range forms {
		if bytes > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", known[k], report.FormatBytes(int64(roundUp(bytes)))))
		}
	}
	more := ""
	if t.Forms == nil {
		more = "; --trace-format parquet takes the least space"
	}
	fmt.Fprintf(a.stderr, "notice: the traces of all runs take about %s of disk space (%s) in %s%s\n",
		report.FormatBytes(int64(roundUp(all))), strings.Join(parts, ", "),
		filepath.Join(results.FolderPath(s, string(r.Out), r.On), "traces"), more)
	return t, nil
}

// linkedForms returns the forms of traces to write, in the order of known: the given ones, or all that the program has
// if given is nil. It returns an error for a given form that is not linked in.
func linkedForms(given, known []string) (forms []string, err error) {
	for _, f := range known {
		missing := results.MissingTraceForm(f)
		switch {
		case missing == nil && (given == nil || slices.Contains(given, f)):
			forms = append(forms, f)
		case missing != nil && slices.Contains(given, f):
			return nil, fmt.Errorf("--trace-format: %w", missing)
		}
	}
	return forms, nil
}
