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

// traceName is what traces of a folder of results are called.
var traceName = regexp.MustCompile(`^[0-9a-f]{16}\.(parquet|pcapng|txt)$`)

// Bounds of a search.
const (
	mostEvents = 500 // that are listed
	mostTime   = 60 * time.Second
	mostTraces = 500 // that can be chosen from
)

// traceFile is a trace of a folder.
type traceFile struct {
	Folder, File string
	Size         int64
}

// Name is how a request names it.
func (t traceFile) Name() string { return t.Folder + "/" + t.File }

// traceFiles are all traces below the results, those of the latest results first. Of the forms of one trace it is
// Parquet, which is read fastest.
func (s *Server) traceFiles() (list []traceFile, err error) {
	all, _, err := s.index.list()
	for _, e := range all {
		files, err := os.ReadDir(filepath.Join(s.options.Out, e.Name, "traces"))
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
				if list = append(list, t); len(list) >= mostTraces {
					return list, nil
				}
			}
		}
	}
	return list, err
}

// traceSearch is what a search is for.
type traceSearch struct {
	Trace, Flow, Port, Node, Host, Kind, From, To string
}

func searched(r *http.Request) traceSearch {
	q := r.URL.Query()
	return traceSearch{q.Get("trace"), q.Get("flow"), q.Get("port"), q.Get("node"), q.Get("host"), q.Get("kind"),
		q.Get("from"), q.Get("to")}
}

// words are what a field has, separated by commas or spaces.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// filter reads the search.
func (t *traceSearch) filter() (f trace.Filter, err error) {
	f.Ports, f.Nodes, f.Hosts = words(t.Port), words(t.Node), words(t.Host)
	for _, w := range words(t.Flow) {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return f, wrongInput(fmt.Sprintf("%q is no number of a flow; they count from 0.", w))
		}
		f.Flows = append(f.Flows, n)
	}
	for _, w := range words(t.Kind) {
		k, ok := trace.ParseKind(w)
		if !ok {
			return f, wrongInput(fmt.Sprintf("%q is no kind of event; allowed: %s.", w, document.Choices(trace.KindNames())))
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
		return f, wrongInput(fmt.Sprintf("%s is not after the beginning.", t.To))
	}
	return f, nil
}

// found is what a search has given.
type found struct {
	All, Picked int64
	Summary     string
	Events      []string
	More        bool
	Wrong       string
}

func (s *Server) traces(w http.ResponseWriter, r *http.Request) error {
	list, err := s.traceFiles()
	if err != nil {
		return err
	}
	asked := searched(r)
	data := map[string]any{"Traces": list, "Asked": asked, "Kinds": trace.KindNames()}
	if asked.Trace != "" {
		folder, file, _ := strings.Cut(asked.Trace, "/")
		dir, err := s.index.folder(folder)
		if err != nil {
			return err
		}
		if !traceName.MatchString(file) || !inside(dir, filepath.Join("traces", file)) {
			return missing("There is no such trace.")
		}
		x := found{}
		if filter, err := asked.filter(); err != nil {
			x.Wrong = err.Error()
		} else {
			x = search(r.Context(), filepath.Join(dir, "traces", file), &filter)
			x.Wrong = s.clean(x.Wrong)
		}
		data["Found"], data["Columns"] = x, strings.Fields(columns)
	}
	return s.show(w, r, "traces", http.StatusOK, "Traces", data)
}

// columns are those of the text form.
const columns = "time_s event node port flow packet proto src dst seq ack size_bytes payload_bytes tos ecn flags " +
	"queue_packets queue_bytes reason"

// search goes through a trace, until it is through or nobody waits any more.
func search(ctx context.Context, name string, filter *trace.Filter) (x found) {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	var sum trace.Summary
	_, err := results.ReadTrace(name, func(r *trace.Record) error {
		if x.All++; x.All%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !filter.Match(r) {
			return nil
		}
		if x.Picked++; x.Picked <= mostEvents {
			x.Events = append(x.Events, strings.TrimSpace(string(trace.AppendText(nil, r))))
		}
		sum.Add(r)
		return nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.Wrong = fmt.Sprintf("The search ended after %v: what is shown is of the first %d events. Narrow it, or use "+
			"weir trace.", mostTime, x.All)
	case err != nil:
		x.Wrong = err.Error()
	}
	x.More, x.Summary = x.Picked > mostEvents, sum.String()
	return x
}

// Rows are the events, as columns.
func (x found) Rows() (rows [][]string) {
	for _, e := range x.Events {
		rows = append(rows, strings.Fields(e))
	}
	return rows
}
