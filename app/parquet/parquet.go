// Package parquet links Parquet into a program: the tables of a results folder, and traces in that form.
package parquet

import (
	"weir/study/results"
	"weir/study/results/parquet"
)

func init() { results.ParquetFiles.Link(parquet.Files{}) }
