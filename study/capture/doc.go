// Package capture writes traces as pcapng and Parquet and reads them again, and
// pcapng files of others. It is what of traces needs libraries; events and the text
// form are in trace.
package capture
