# The imported target pthreadpool::pthreadpool; pthreadpool has no package file of its own.
if(NOT TARGET pthreadpool::pthreadpool)
  find_path(PTHREADPOOL_INCLUDE pthreadpool.h)
  find_library(PTHREADPOOL_LIBRARY pthreadpool)
  if(PTHREADPOOL_INCLUDE AND PTHREADPOOL_LIBRARY)
    add_library(pthreadpool::pthreadpool UNKNOWN IMPORTED)
    set_target_properties(pthreadpool::pthreadpool PROPERTIES
      IMPORTED_LOCATION ${PTHREADPOOL_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${PTHREADPOOL_INCLUDE})
  endif()
endif()
