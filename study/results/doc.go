// Package results holds the results of runs and the results folder. The folder has one file for each finished run,
// and files made from all runs: runs.json, tables as Parquet and CSV, judged claims, and the comparison of simulator
// and lab. The package also writes traces as Parquet and reads traces of all formats.
package results
