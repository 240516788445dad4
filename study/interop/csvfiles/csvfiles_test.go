package csvfiles

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/run"
)

// at returns the cell of a row in the column of that name.
func at(head, row []string, name string) string { return row[slices.Index(head, name)] }

// TestWrite_FilesMatchRuns checks that files have a line for each flow, value over time and value of a distribution,
// with the numbers of the runs' files to the last digit. The cell of an undefined value is empty.
func TestWrite_FilesMatchRuns(t *testing.T) {
	r := plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
	s := plantest.Load(t, r, plantest.Small+`switch: [forward]
sweep: {rate: [1Mbps, 4Mbps], value: {"=x": {mtu: 1500 B}}}
traffic: [{name: w, from: a, to: c, transport: tcp, size: 50kB, start: 150ms},
  {name: u, from: b, to: c, transport: udp, rate: $rate, start: 0s}]
measure: [{cwnd: {every: 10ms}}, {goodput: {every: 50ms}}, {queue: {port: s->c, every: 1ms}}]
`, experiment.Options{})
	o, err := run.Execute(context.Background(), s, run.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "csv")
	var out bytes.Buffer
	if err := Format().New().Write(r, o.Dir, into, &out); err != nil {
		t.Fatal(err)
	}
	read := func(name string) (head []string, rows [][]string) {
		data, err := os.ReadFile(filepath.Join(into, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all[0], all[1:]
	}
	head, rows := read("series")
	if want := []string{"run", "seed", "rate", "rate_value", "sweep_value", "measure", "group", "unit", "time_s",
		"value"}; !slices.Equal(head, want) {
		t.Fatalf("%v, not %v", head, want)
	}
	k := 0
	for _, r := range o.Runs {
		for i := range r.Series {
			for n, v := range r.Series[i].Values {
				row := rows[k]
				k++
				got, err := strconv.ParseFloat(at(head, row, "value"), 64)
				if undefined := v != v; undefined != (at(head, row, "value") == "") ||
					!undefined && (err != nil || got != float64(v)) {
					t.Fatalf("row %d: %v, not %v", k, row, v)
				}
				if at(head, row, "run") != r.ID || at(head, row, "rate") != r.Point[0].Text ||
					at(head, row, "sweep_value") != "'=x" || at(head, row, "group") != r.Series[i].Group ||
					at(head, row, "time_s") != fmt.Sprint(r.Series[i].Time(n)) {
					t.Fatalf("row %d: %v", k, row)
				}
			}
		}
	}
	if k == 0 || k != len(rows) {
		t.Errorf("%d rows, and %d values", len(rows), k)
	}

	head, rows = read("flows")
	if len(rows) != 2*len(o.Runs) || at(head, rows[0], "traffic") != "w" || at(head, rows[0], "size_bytes") != "50000" ||
		at(head, rows[1], "size_bytes") != "" || at(head, rows[1], "fct_s") != "" {
		t.Errorf("flows: %v", rows)
	}
	head, rows = read("distributions")
	total := 0
	for _, row := range rows {
		if at(head, row, "run") == o.Runs[0].ID && at(head, row, "measure") == "queue" {
			n, _ := strconv.Atoi(at(head, row, "count"))
			total += n
		}
	}
	if want := o.Runs[0].FindDistribution("queue", "s->c").Count(); want == 0 || total != int(want) ||
		at(head, rows[len(rows)-1], "share") != "1" {
		t.Errorf("distributions: %d of %d, %v", total, want, rows[len(rows)-1])
	}
	var values bytes.Buffer
	o.CSV(&values)
	if data, err := os.ReadFile(filepath.Join(into, "values.csv")); err != nil || !bytes.Equal(data, values.Bytes()) {
		t.Errorf("values.csv is not what --csv prints: %v", err)
	}
}
