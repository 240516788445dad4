package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/results"
)

// traceName matches file names of traces in a results folder.
var traceName = regexp.MustCompile(`^[0-9a-f]{16}\.(parquet|pcapng|txt)$`)

// Limits of a search.
const (
	maxEvents     = 500 // events listed
	maxSearchTime = 60 * time.Second
	maxTraces     = 500 // traces offered
)

// traceFile is a trace of a folder.
type traceFile struct {
	Folder, File string
	Size         int64
}

// Name returns the trace's name in requests.
func (t traceFile) Name() string { return t.Folder + "/" + t.File }

// listTraces returns up to maxTraces traces below the results, the latest results' first. If a trace exists in
// several formats, it returns only Parquet, which is fastest to read. It skips folders that cannot be read.
func (s *Server) listTraces() (list []traceFile, err error) {
	all, _, err := s.index.listFolders()
	for _, e := range all {
		files, err := os.ReadDir(filepath.Join(s.options.ResultsDir, e.Name, "traces"))
		if err != nil {
			continue
		}
		forms := map[string]string{}
		for _, f := range files {
			if m := traceName.FindStringSubmatch(f.Name()); m != nil && f.Type().IsRegular() {
				if id := f.Name()[:16]; forms[id] == "" || m[1] == "parquet" {
					forms[id] = m[1]
				}
			}
		}
		for _, f := range files {
			if m := traceName.FindStringSubmatch(f.Name()); m != nil && forms[f.Name()[:16]] == m[1] {
				t := traceFile{Folder: e.Name, File: f.Name()}
				if info, err := f.Info(); err == nil {
					t.Size = info.Size()
				}
				if list = append(list, t); len(list) >= maxTraces {
					return list, nil
				}
			}
		}
	}
	return list, err
}

// traceSearch holds the fields of a search, as entered.
type traceSearch struct {
	Trace, Flow, Port, Node, Host, Kind, From, To string
}

// parseSearch reads the fields of a search from the query.
func parseSearch(r *http.Request) traceSearch {
	q := r.URL.Query()
	return traceSearch{q.Get("trace"), q.Get("flow"), q.Get("port"), q.Get("node"), q.Get("host"), q.Get("kind"),
		q.Get("from"), q.Get("to")}
}

// splitWords splits a field at commas and spaces.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// parseFilter converts the fields to a filter. Empty fields match all events. It returns an error for an invalid field.
func (t *traceSearch) parseFilter() (f trace.Filter, err error) {
	f.Ports, f.Nodes, f.Hosts = splitWords(t.Port), splitWords(t.Node), splitWords(t.Host)
	for _, w := range splitWords(t.Flow) {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return f, wrongInput(fmt.Sprintf("%q is not a flow number; numbers from 0 are allowed.", w))
		}
		f.Flows = append(f.Flows, n)
	}
	for _, w := range splitWords(t.Kind) {
		k, ok := trace.ParseKind(w)
		if !ok {
			return f, wrongInput(fmt.Sprintf("%q is not a kind of event; allowed: %s.",
				w, document.JoinChoices(trace.KindNames())))
		}
		f.Kinds = append(f.Kinds, k)
	}
	for _, x := range []struct {
		text string
		at   *unit.Time
	}{{t.From, &f.From}, {t.To, &f.To}} {
		if x.text == "" {
			continue
		}
		if *x.at, err = unit.ParseTime(x.text); err != nil {
			return f, wrongInput(err.Error())
		}
	}
	if t.To != "" && f.To <= f.From {
		return f, wrongInput(fmt.Sprintf("The end %s is not after the start; a later time is allowed.", t.To))
	}
	return f, nil
}

// searchResult is the result of a search.
type searchResult struct {
	All, Picked int64
	Summary     string
	Events      []string
	More        bool
	Wrong       string
}

// serveTraces shows the traces, and the result of the search in the query.
func (s *Server) serveTraces(w http.ResponseWriter, r *http.Request) error {
	list, err := s.listTraces()
	if err != nil {
		return err
	}
	asked := parseSearch(r)
	data := map[string]any{"Traces": list, "Asked": asked, "Kinds": trace.KindNames()}
	if asked.Trace != "" {
		folder, file, _ := strings.Cut(asked.Trace, "/")
		dir, err := s.index.findFolder(folder)
		if err != nil {
			return err
		}
		if !traceName.MatchString(file) || !isInside(dir, filepath.Join("traces", file)) {
			return notFound("The trace does not exist.")
		}
		x := searchResult{}
		if filter, err := asked.parseFilter(); err != nil {
			x.Wrong = err.Error()
		} else {
			x = searchTrace(r.Context(), filepath.Join(dir, "traces", file), &filter)
			x.Wrong = s.hidePaths(x.Wrong)
		}
		data["Found"], data["Columns"] = x, strings.Fields(textColumns)
	}
	return s.showPage(w, r, "traces", http.StatusOK, "Traces", data)
}

// textColumns are the columns of the text format.
const textColumns = "time_s event node port flow packet proto src dst seq ack size_bytes payload_bytes tos ecn flags " +
	"queue_packets queue_bytes reason"

// searchTrace searches a trace until its end, maxSearchTime or the end of ctx. It counts all matches, summarizes them
// and keeps the first maxEvents. Errors are described in Wrong, with the matches so far.
func searchTrace(ctx context.Context, name string, filter *trace.Filter) (x searchResult) {
	ctx, cancel := context.WithTimeout(ctx, maxSearchTime)
	defer cancel()
	var sum trace.Summary
	_, err := results.ReadTrace(name, func(r *trace.Record) error {
		if x.All++; x.All%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !filter.Match(r) {
			return nil
		}
		if x.Picked++; x.Picked <= maxEvents {
			x.Events = append(x.Events, strings.TrimSpace(string(trace.AppendText(nil, r))))
		}
		sum.AddRecord(r)
		return nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.Wrong = fmt.Sprintf("The search stopped after %v and shows matches in the first %d events only. Narrow it, or "+
			"use weir trace.", maxSearchTime, x.All)
	case err != nil:
		x.Wrong = err.Error()
	}
	x.More, x.Summary = x.Picked > maxEvents, sum.String()
	return x
}

// Rows returns the events split into columns.
func (x searchResult) Rows() (rows [][]string) {
	for _, e := range x.Events {
		rows = append(rows, strings.Fields(e))
	}
	return rows
}
