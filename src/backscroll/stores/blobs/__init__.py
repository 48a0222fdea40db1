"""Large bodies outside of the store, and the layer that moves them there.

- `offloading.py`: the layer: a store whose large bodies are blobs
- `pointers.py`: the records that point to blobs
- `addresses.py`: open the blob store of an address
- `folder.py`: blobs as files in a folder
- `s3.py`: blobs in an S3 bucket
"""
