// Package parquet writes tables of results and traces as Parquet files, and reads traces. Importing weir/app/parquet
// sets it as results.ParquetFiles.
package parquet
