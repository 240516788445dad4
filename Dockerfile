# An image with nothing but weir, from a release's archive that was unpacked, or any folder with a weir for Linux that
# needs no library of C: docs/release.md.
FROM scratch
COPY weir LICENSE NOTICES.txt components.cdx.json /
# Results and temporary files are in the folder that is mounted here.
WORKDIR /work
ENV HOME=/work TMPDIR=/work
ENTRYPOINT ["/weir"]
