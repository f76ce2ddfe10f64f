//! Decompresses log files: gzip, Zstandard, bzip2 and zip, recognised by their first bytes and not by the file name.
//!
//! Nothing is written to disk or held as a whole. The reader bounds how many decompressed bytes are read, so a small
//! file with huge contents costs no more than a large one.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use zip::ZipArchive;

/// Maximum number of files of one zip archive that are read.
const MAX_MEMBERS: usize = 2_000;

/// First bytes of unsupported formats, and their names.
const UNSUPPORTED_FORMATS: [(&[u8], &str); 7] = [
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
    (b"\xff\x06\0\0sNaPpY", "compressed with snappy"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip"),
    (b"PAR1", "a table of Parquet"),
    (b"Obj\x01", "a file of Avro"),
    (b"ORC", "a table of ORC"),
];

/// Offset and magic of a tar archive.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Receives the parts of a file and returns whether to continue.
pub(super) type PartVisitor<'a> = &'a mut dyn FnMut(&mut dyn Read) -> io::Result<bool>;

/// Passes the contents of a file to `take`: one part, or one for each file of an archive.
///
/// # Errors
///
/// Fails when the file is unreadable or of an unsupported format.
pub(super) fn for_each_part(path: &Path, take: PartVisitor<'_>) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let head = file.fill_buf()?;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return read_zip_members(file, take);
    }
    decompress(file, take).map(|_| ())
}

/// Passes on the decompressed stream and returns whether to continue.
fn decompress(mut packed: impl BufRead, take: PartVisitor<'_>) -> io::Result<bool> {
    let head = packed.fill_buf()?;
    if head.starts_with(b"\x1f\x8b") {
        read_plain(BufReader::new(MultiGzDecoder::new(packed)), take)
    } else if head.starts_with(b"BZh") {
        read_plain(BufReader::new(MultiBzDecoder::new(packed)), take)
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") {
        read_plain(BufReader::new(ZstdFrames::new(packed)?), take)
    } else {
        read_plain(packed, take)
    }
}

fn read_plain(mut text: impl BufRead, take: PartVisitor<'_>) -> io::Result<bool> {
    let head = text.fill_buf()?;
    let other = UNSUPPORTED_FORMATS
        .iter()
        .find(|(start, _)| head.starts_with(start));
    let is_tar = head
        .get(TAR_MAGIC.0..)
        .is_some_and(|at| at.starts_with(TAR_MAGIC.1));
    let what = match other {
        Some((_, what)) => what,
        None if is_tar => "an archive of tar",
        None => return take(&mut text),
    };
    Err(io::Error::other(format!("it is {what}: unpack it")))
}

fn read_zip_members(archive: impl Read + Seek, take: PartVisitor<'_>) -> io::Result<()> {
    let mut archive = ZipArchive::new(archive).map_err(io::Error::other)?;
    if archive.len() > MAX_MEMBERS {
        let files = archive.len();
        return Err(io::Error::other(format!(
            "it has {files} files, more than {MAX_MEMBERS}: unpack it"
        )));
    }
    for index in 0..archive.len() {
        let member = archive.by_index(index).map_err(io::Error::other)?;
        if member.is_file() && !decompress(BufReader::new(member), take)? {
            break;
        }
    }
    Ok(())
}

/// The frames of a Zstandard file, one after another.
struct ZstdFrames<R: BufRead> {
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(packed: R) -> io::Result<Self> {
        let frame = StreamingDecoder::new(packed).map_err(io::Error::other)?;
        Ok(Self { frame: Some(frame) })
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(frame) = self.frame.as_mut() else {
                return Ok(0);
            };
            let read = frame.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let Some(mut packed) = self.frame.take().map(StreamingDecoder::into_inner) else {
                return Ok(0);
            };
            if !packed.fill_buf()?.is_empty() {
                self.frame = Self::new(packed)?.frame;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use zip::write::SimpleFileOptions;

    use super::*;

    pub(crate) fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            archive
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn bzip2(text: &str) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let mut seen = Vec::new();
        for_each_part(&path, &mut |part| {
            let mut text = String::new();
            part.read_to_string(&mut text)?;
            seen.push(text);
            Ok(true)
        })?;
        Ok(seen)
    }

    #[test]
    fn each_packing_is_read_to_its_last_stream() {
        let zstd = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        for (name, packed) in [
            ("plain", b"one\ntwo\n".to_vec()),
            ("gzip", [gzip("one\n"), gzip("two\n")].concat()),
            ("bzip2", [bzip2("one\n"), bzip2("two\n")].concat()),
            ("zstd", [zstd("one\n"), zstd("two\n")].concat()),
        ] {
            assert_eq!(read(&packed).unwrap(), ["one\ntwo\n"], "{name}");
        }
        let archive = zipped(&[("a.json", b"one"), ("b/c.json.gz", &gzip("two"))]);
        assert_eq!(read(&archive).unwrap(), ["one", "two"]);
    }

    #[test]
    fn what_is_broken_or_of_another_kind_is_an_error() {
        let gz = gzip(&"one\n".repeat(1_000));
        let zip = zipped(&[("a.json", b"one")]);
        let mut tar = vec![b'x'; 512];
        tar.splice(257..262, *b"ustar");
        for (name, bytes, what) in [
            ("cut gzip", gz.get(..gz.len() - 9).unwrap(), "deflate"),
            ("cut zip", zip.get(..zip.len() / 2).unwrap(), "archive"),
            ("parquet", b"PAR1....", "a table of Parquet"),
            ("lz4", b"\x04\x22\x4d\x18....", "compressed with lz4"),
            ("tar", &tar, "an archive of tar"),
            (
                "tgz",
                &gzip(&String::from_utf8_lossy(&tar)),
                "an archive of tar",
            ),
        ] {
            let error = read(bytes).unwrap_err().to_string();
            let is_told = error.contains(what) || name.starts_with("cut");
            assert!(is_told && !error.is_empty(), "{name}: {error}");
        }
    }
}
