// Package results has what runs give, and the folder that keeps it: one file a run, moved in
// when the run is finished, and what is made of all of them: runs.json, tables as Parquet and
// CSV, claims judged, simulator and lab side by side. Traces as Parquet, and
// the reader of traces of every form, are here too.
package results
