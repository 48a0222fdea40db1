"""Large bodies elsewhere, and the store that moves them there.

- `offloading.py`  a store whose large bodies are blobs
- `pointers.py`    the records that stand for them
- `addresses.py`   from an address to a place for blobs
- `folder.py`      blobs as files in a folder
- `s3.py`          blobs in a bucket that speaks S3
"""
